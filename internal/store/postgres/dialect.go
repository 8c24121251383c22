package postgres

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/coop-dev/coop/internal/store/relational"
)

func (s *Store) dialect() relational.Dialect {
	return relational.Dialect{
		Place:     func(n int) string { return "$" + strconv.Itoa(n) },
		HasLabel:  `record::json -> 'spec' -> 'labels' ->> ? = ?`,
		HexList:   `SELECT decode(value, 'hex') AS name FROM json_array_elements_text(?3::json)`,
		Unique:    func(err error) bool { return sqlState(err) == "23505" },
		Fail:      s.fail,
		Text:      text,
		WriteTime: writeTime,
	}
}

// text leaves out what a column of text cannot hold: NUL and bytes that are not
// UTF-8. Both can come in an error message or a file name of a sandbox.
func text(t string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(t, "\x00", "�"), "�")
}

// sqlState is the server's five-letter code, "" when it was not the server.
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
