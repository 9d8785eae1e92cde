/**
 * The demonstration's server: this package's own, in the same process. Adapters are loaded over HTTP as by
 * any client.
 */
import type { Dtype } from '@cairn-tune/ops'
import { startServer, type Quantization } from '@cairn-tune/serve'
import type { StartServer } from './lora-server.ts'

const QUANTIZATION_OF: Partial<Record<Dtype, Quantization>> = { fp8_tiles: 'fp8', nvfp4: 'nvfp4', nf4: 'nf4' }

export const serveBase: StartServer = async ({ model, storage, threads }) => {
  const quantization = QUANTIZATION_OF[storage]
  return await startServer({
    model,
    port: 0,
    maxModelLen: 2048,
    enableLora: true,
    maxLoraRank: 64,
    env: { ...process.env, VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' },
    ...(quantization && { quantization }),
    ...(threads !== undefined && { threads }),
  })
}
