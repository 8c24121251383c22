package api

// SignalRequest is the body of POST /sandboxes/{id}/exec/{exec}/signal, which
// reaches an attached command when its stream is full of stdin that the
// command does not read: a control frame would wait behind it.
type SignalRequest struct {
	Signal string `json:"signal"` // SIGINT, INT or 2
}
