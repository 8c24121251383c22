#include "textflag.h"

// The program of a stub. It is copied into a file of its own (image.go) and
// never runs here, so it may refer to nothing but its own labels: no symbol, no
// stack, no g.
//
// R12 points at the call to make: number, six arguments, and how many bytes to
// go on if it fails, 0 to give up. See list.go.
TEXT ·code(SB),NOSPLIT|NOFRAME,$0-0
	MOVL	$0x500800, R12			// origin
next:
	MOVQ	0(R12), AX
	MOVQ	8(R12), DI
	MOVQ	16(R12), SI
	MOVQ	24(R12), DX
	MOVQ	32(R12), R10
	MOVQ	40(R12), R8
	MOVQ	48(R12), R9
	SYSCALL
	CMPQ	AX, $-4095
	JCC	failed				// unsigned: -4095 to -1 are errors
	ADDQ	$64, R12
	JMP	next
failed:
	MOVQ	56(R12), CX
	TESTQ	CX, CX
	JEQ	report
	ADDQ	CX, R12
	JMP	next
report:						// to descriptor 4: the call, its error in the last field
	NEGQ	AX
	MOVQ	AX, 56(R12)
	MOVL	$1, AX				// write
	MOVL	$4, DI
	MOVQ	R12, SI
	MOVL	$64, DX
	SYSCALL
	MOVL	$231, AX			// exit_group
	MOVL	$126, DI			// failed
	SYSCALL
	UNDEF					// the end, for image.go
	UNDEF
	UNDEF
	UNDEF

// func address() uintptr
TEXT ·address(SB),NOSPLIT,$0-8
	LEAQ	·code(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
