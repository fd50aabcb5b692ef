#include "textflag.h"

// func anyOver(p *byte, n int, unsigned, exponent uint64) bool
//
// n is a multiple of 64, and not 0.
TEXT ·anyOver(SB), NOSPLIT, $0-33
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ unsigned+16(FP), X6
	MOVQ exponent+24(FP), X7
	PUNPCKLQDQ X6, X6
	PUNPCKLQDQ X7, X7
	PXOR X4, X4
	PXOR X5, X5

loop:
	MOVOU 0(SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	PAND X6, X0
	PAND X6, X1
	PAND X6, X2
	PAND X6, X3
	PADDQ X7, X0
	PADDQ X7, X1
	PADDQ X7, X2
	PADDQ X7, X3
	POR X0, X4
	POR X1, X5
	POR X2, X4
	POR X3, X5
	ADDQ $64, SI
	SUBQ $64, CX
	JNE loop

	POR X5, X4
	PANDN X4, X6 // only what has gone over
	MOVMSKPS X6, AX
	TESTL AX, AX
	SETNE ret+32(FP)
	RET
