/**
 * A provider whose code is loaded with its first call: each vendor's SDK takes some 10 MB, and most services
 * use one vendor.
 */
import type { ModelProvider } from './provider.ts'

export function loadedOnUse(load: () => Promise<ModelProvider>): ModelProvider {
  let loading: Promise<ModelProvider> | null = null
  return {
    async call(request, onChunk, signal) {
      loading ??= load()
      return (await loading).call(request, onChunk, signal)
    },
    async close() {
      await (await loading)?.close?.()
    },
  }
}
