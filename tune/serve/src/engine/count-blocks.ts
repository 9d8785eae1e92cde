/** Computes how many blocks fit in a cache. */
import { totalmem } from 'node:os'
import { InputError } from '@cairn-tune/weights'
import { BLOCK } from './kv-blocks.ts'

/** Number of blocks in a cache of `bytes` bytes. Throws if not even one sequence fits. */
export function countBlocks(bytes: number, perBlock: number, maxModelLen: number): number {
  const minBlocks = Math.ceil((maxModelLen + 1) / BLOCK)
  if (bytes > totalmem())
    throw new InputError(
      `the KV cache of ${bytes} bytes exceeds the memory of this machine, ${totalmem()} bytes; ` +
        'lower --kv-cache-memory',
    )
  const blocks = Math.floor(bytes / perBlock)
  if (blocks < minBlocks)
    throw new InputError(
      `a KV cache of ${bytes} bytes holds ${blocks * BLOCK} tokens, but one sequence of ` +
        `${maxModelLen} needs ${minBlocks * perBlock} bytes; ` +
        'raise --kv-cache-memory or lower --max-model-len',
    )
  return blocks
}
