// Package store is the log of one terminal on disk: its output, byte for byte,
// as segments of bounded size, and the state of the screen where each begins.
//
// Owns the files of one directory. It knows nothing of clients or programs and
// does not decide when to begin a segment.
//
// Invariant: the offset at which the newest segment begins plus its length is
// exactly how much of the stream was stored, at every instant. Bytes are only
// ever appended, in one place, so a process that is killed leaves a shorter log
// and never a wrong one. The page cache outlives the process: nothing is synced.
package store

// What the directory holds:
//
//	<base>.seg   header, state of the screen at base, then output from base on
//	<base>.ev    what else happened to the screen since base: fixed records
//	*.tmp        a segment that was never finished; removed by Open
//
// base is the absolute offset of the segment's first byte in decimal, so that
// names sort. A segment appears under its name complete with its header, by
// rename; from then on the one before it is never written again.
