// Code for the card too: nvcc compiles it for the card only; for every other compiler the macro is empty.
#pragma once

#if defined(__CUDACC__)
#define CAIRN_DEVICE __device__
#else
#define CAIRN_DEVICE
#endif
