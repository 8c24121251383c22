// Package screen keeps what a terminal shows. It reads the output of a program
// as an xterm would and can give, at any byte of the stream, the sequences that
// make another terminal show the same thing.
//
// It owns the emulation: both screens, the cursor, the modes, and the filter
// for output that is shown later. It does no I/O, answers no query (a reply
// would be input the user never typed) and keeps no scrollback.
//
// Invariants: no input makes it panic, block or grow beyond a bound that the
// size of the screen sets; what it emits never holds a query, a title, a
// clipboard or a device control sequence, whatever it was fed; and where a
// stream is cut into writes does not change the result.
//
//	bytes ─ ground.go (fast: text, CSI) ┬─ print.go ─ grid.go
//	      └ parser.go (anything, cut)   ├─ csi.go ─ cursor.go, edit.go, sgr.go, modes.go
//	                                    └─ esc.go, osc.go, charset.go
//	Snapshot ◄─ snapshot.go     Save, Load ◄─ checkpoint.go     Sanitize ◄─ sanitize.go
package screen
