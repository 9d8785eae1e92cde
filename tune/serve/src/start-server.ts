/** The server as a whole: the model, its adapters, and HTTP before them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdapterRegistry } from './adapter-registry.ts'
import { handle, type App } from './http/routes.ts'
import { DEFAULTS, type ServeOptions } from './serve-options.ts'
import { loadServedModel } from './served-model.ts'

export type RunningServer = { url: string; close(): Promise<void> }

/** Loads the model and its first adapters, then listens. */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const log = options.log ?? (() => undefined)
  const env = options.env ?? process.env
  const model = await loadServedModel({ ...options, enableLora: options.enableLora ?? Object.keys(options.loraModules ?? {}).length > 0 })
  try {
    const app: App = { model, adapters: createAdapterRegistry(model), started: Math.floor(Date.now() / 1000), allowsUpdating: /^(?:true|1)$/i.test(env['VLLM_ALLOW_RUNTIME_LORA_UPDATING'] ?? ''), log }
    for (const [name, path] of Object.entries(options.loraModules ?? {})) await app.adapters.load(name, path)
    const server = createServer((request, response) => void handle(app, request, response))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options.port ?? DEFAULTS.port, options.host ?? DEFAULTS.host, resolve)
    })
    const { address, port, family } = server.address() as AddressInfo
    return {
      url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
      async close() {
        const closed = new Promise<void>(resolve => server.close(() => resolve()))
        // What is being answered is told so; then connections that only wait are closed.
        await model.close()
        server.closeIdleConnections()
        await closed
      },
    }
  } catch (error) {
    await model.close()
    throw error
  }
}
