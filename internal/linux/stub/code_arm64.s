#include "textflag.h"

// The program of a stub; see code_amd64.s. R19 points at the call to make.
TEXT ·code(SB),NOSPLIT|NOFRAME,$0-0
	MOVD	$0x500800, R19			// origin
next:
	MOVD	0(R19), R8
	MOVD	8(R19), R0
	MOVD	16(R19), R1
	MOVD	24(R19), R2
	MOVD	32(R19), R3
	MOVD	40(R19), R4
	MOVD	48(R19), R5
	SVC
	CMN	$4095, R0
	BCS	failed				// unsigned: -4095 to -1 are errors
	ADD	$64, R19
	B	next
failed:
	MOVD	56(R19), R9
	CBZ	R9, report
	ADD	R9, R19
	B	next
report:						// to descriptor 4: the call, its error in the last field
	NEG	R0, R0
	MOVD	R0, 56(R19)
	MOVD	$64, R8				// write
	MOVD	$4, R0
	MOVD	R19, R1
	MOVD	$64, R2
	SVC
	MOVD	$94, R8				// exit_group
	MOVD	$126, R0			// failed
	SVC
	UNDEF					// the end, for image.go
	UNDEF
	UNDEF
	UNDEF

// func address() uintptr
TEXT ·address(SB),NOSPLIT,$0-8
	MOVD	$·code(SB), R0
	MOVD	R0, ret+0(FP)
	RET
