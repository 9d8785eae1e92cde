/** How much of a base a run holds in memory. */
import { byteLength, type Dtype, type Shape } from '@cairn-tune/ops'
import { headName, type ModelConfig } from '@cairn-tune/models'
import { loadingBytes, type Checkpoint } from '@cairn-tune/weights'

/** What the system maps around an address that is read for the first time (`fault_around_bytes`). */
const READAHEAD_BYTES = 64 * 1024
const EMBEDDINGS = 'model.embed_tokens.weight'

type Weight = { name: string; dtype: Dtype; shape: Shape }
type Reads = { checkpoint: Checkpoint; model: ModelConfig; tokenIds: ReadonlySet<number> | undefined }

/**
 * Bytes of a base. Every weight is read whole in a step but one: of embeddings that lie in the mapped file,
 * and do not make logits too, only rows of tokens that the data has. Before the data is read all count.
 */
export function residentBytes(base: readonly Weight[], { checkpoint, model, tokenIds }: Reads): number {
  return base.reduce((sum, weight) => {
    const bytes = byteLength(weight.dtype, weight.shape)
    const isMapped = weight.name === EMBEDDINGS && loadingBytes(checkpoint, weight) === 0
    return sum + (isMapped && headName(model) !== EMBEDDINGS ? rowBytes(weight, tokenIds) : bytes)
  }, 0)
}

/** Bytes that are read of a mapped weight of which only rows of tokens are. */
export function rowBytes(
  { dtype, shape }: Pick<Weight, 'dtype' | 'shape'>,
  tokenIds: ReadonlySet<number> | undefined,
): number {
  const bytes = byteLength(dtype, shape)
  return tokenIds ? Math.min(bytes, pagesOf(tokenIds, bytes / (shape[0] ?? 1))) : bytes
}

/** Bytes around the rows of tokens; what a row shares with its neighbour counts once. */
function pagesOf(ids: ReadonlySet<number>, width: number): number {
  const pages = new Set<number>()
  for (const id of ids)
    for (
      let page = Math.floor((id * width) / READAHEAD_BYTES);
      page * READAHEAD_BYTES < (id + 1) * width;
      page++
    )
      pages.add(page)
  // The file does not begin a tensor where the system begins what it maps.
  return (pages.size + 1) * READAHEAD_BYTES
}
