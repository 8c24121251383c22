package engine

import "time"

// timeLimit is how long a command may take: as long as it asked for, but never
// longer than its sandbox's limit.
func (l *live) timeLimit(asked time.Duration) time.Duration {
	limit := l.spec.Limits.ExecTimeout
	if limit > 0 && (asked == 0 || asked > limit) {
		return limit
	}
	return asked
}
