/** How many blocks a cache has room for. */
import { totalmem } from 'node:os'
import { InputError } from '@cairn-tune/weights'
import { BLOCK } from './kv-blocks.ts'

/** Blocks that a cache of so many bytes has; throws where not even one sequence fits. */
export function countBlocks(bytes: number, perBlock: number, maxModelLen: number): number {
  const least = Math.ceil((maxModelLen + 1) / BLOCK)
  if (bytes > totalmem())
    throw new InputError(
      `a cache of ${bytes} bytes is more than the ${totalmem()} bytes of this machine; give it less`,
    )
  const blocks = Math.floor(bytes / perBlock)
  if (blocks < least)
    throw new InputError(
      `a cache of ${bytes} bytes holds ${blocks * BLOCK} tokens, and one sequence of ${maxModelLen} ` +
        `needs ${least * perBlock} bytes; give it more memory or lower the model length`,
    )
  return blocks
}
