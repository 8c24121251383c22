// Package tty drives the real coop by a real terminal: tmux, whose screen can be
// read cell by cell, colours, cursor and modes included. What a person sees
// before they detach must be what they see when they come back.
//
// Nothing sleeps: tmux tells of every output in control mode, and a test looks
// again when something was written (see window.await).
package tty
