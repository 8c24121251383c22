package terminal

// Screen is the state of a terminal as an emulator sees it. Its methods are
// called by one goroutine at a time. screen.Screen implements it.
type Screen interface {
	// Write takes output. It never fails and never panics, whatever the bytes.
	Write(p []byte)
	Resize(cols, rows int)
	// Snapshot is what rebuilds the screen on a fresh terminal, without titles,
	// queries, clipboard and whatever else the viewer's terminal would act on.
	Snapshot() []byte
	Title() string
	// Save is the whole state; Load takes it up again, in another process too.
	Save() []byte
	Load(saved []byte) error
}

// resetSequence brings a viewer's terminal back from whatever a program left
// behind: alternate screen, scroll region, origin mode, mouse reports,
// bracketed paste, application keys, attributes, character sets, a hidden
// cursor. RIS (ESC c) would also clear the viewer's own scrollback.
const resetSequence = "\x1b[?1049l\x1b[?47l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?2004l\x1b[?2026l" +
	"\x1b[!p\x1b[?1l\x1b>\x1b[?5l\x1b[?6l\x1b[?7h\x1b[?25h\x1b[r\x1b[4l\x1b[20l\x1b[=0u\x1b[<u\x1b(B\x1b)B\x0f\x1b[0m\x1b[0 q"

// clearSequence also clears the screen, for what is drawn from its top.
const clearSequence = resetSequence + "\x1b[H\x1b[2J"
