package sqlite

import (
	"strconv"

	lib "modernc.org/sqlite/lib"

	"github.com/coop-dev/coop/internal/store/relational"
)

func (s *Store) dialect() relational.Dialect {
	return relational.Dialect{
		Place: func(n int) string { return "?" + strconv.Itoa(n) },
		// CASE, because AND promises no order and json_each fails the whole
		// query on a record that is not JSON. Keys are compared and not put
		// into a JSON path, where quotes in them would need escapes.
		HasLabel: `CASE WHEN json_valid(record) THEN EXISTS (
			SELECT 1 FROM json_each(record, '$.spec.labels') WHERE key = ? AND value = ?) END`,
		HexList: `SELECT unhex(value) AS name FROM json_each(?3)`,
		Unique:  func(err error) bool { return result(err) == lib.SQLITE_CONSTRAINT },
		Fail:    s.fail,
	}
}
