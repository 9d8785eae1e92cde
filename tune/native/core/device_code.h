// Code that a card runs too: nvcc compiles it for the card alone, every other compiler as if it said nothing.
#pragma once

#if defined(__CUDACC__)
#define CAIRN_DEVICE __device__
#else
#define CAIRN_DEVICE
#endif
