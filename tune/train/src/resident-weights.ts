/** Memory of a base in a run. */
import { byteLength, type Dtype, type Shape } from '@cairn-tune/ops'
import { headName, type ModelConfig } from '@cairn-tune/models'
import { loadingBytes, type Checkpoint } from '@cairn-tune/weights'

/** Bytes that the system maps around an address on its first read (`fault_around_bytes`). */
const READAHEAD_BYTES = 64 * 1024
const EMBEDDINGS = 'model.embed_tokens.weight'

type Weight = { name: string; dtype: Dtype; shape: Shape }
type Reads = { checkpoint: Checkpoint; model: ModelConfig; tokenIds: ReadonlySet<number> | undefined }

/**
 * Resident bytes of a base. A step reads every weight as a whole except one: of embeddings in the mapped file
 * that are not also the head, it reads only the rows of tokens in the data. Before the data is read, all rows
 * count.
 */
export function residentBytes(base: readonly Weight[], { checkpoint, model, tokenIds }: Reads): number {
  return base.reduce((sum, weight) => {
    const bytes = byteLength(weight.dtype, weight.shape)
    const isMapped = weight.name === EMBEDDINGS && loadingBytes(checkpoint, weight) === 0
    return sum + (isMapped && headName(model) !== EMBEDDINGS ? rowBytes(weight, tokenIds) : bytes)
  }, 0)
}

/** Bytes read of a mapped weight of which only token rows are used. */
export function rowBytes(
  { dtype, shape }: Pick<Weight, 'dtype' | 'shape'>,
  tokenIds: ReadonlySet<number> | undefined,
): number {
  const bytes = byteLength(dtype, shape)
  return tokenIds ? Math.min(bytes, pagesOf(tokenIds, bytes / (shape[0] ?? 1))) : bytes
}

/** Bytes around the rows of tokens. What a row shares with its neighbour counts once. */
function pagesOf(ids: ReadonlySet<number>, width: number): number {
  const pages = new Set<number>()
  for (const id of ids)
    for (
      let page = Math.floor((id * width) / READAHEAD_BYTES);
      page * READAHEAD_BYTES < (id + 1) * width;
      page++
    )
      pages.add(page)
  // One more, because a tensor need not start at the boundary of a mapped range.
  return (pages.size + 1) * READAHEAD_BYTES
}
