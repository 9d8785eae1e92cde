/** The server as a whole: the model, its adapters, and HTTP before them. */
import { createServer, type ServerResponse } from 'node:http'
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
    const open = new Set<ServerResponse>()
    const server = createServer((request, response) => {
      open.add(response)
      response.once('close', () => open.delete(response))
      void handle(app, request, response)
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options.port ?? DEFAULTS.port, options.host ?? DEFAULTS.host, resolve)
    })
    const { address, port, family } = server.address() as AddressInfo
    return {
      url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
      async close() {
        const closed = new Promise<void>(resolve => server.close(() => resolve()))
        // What is being answered ends with an error, and its connection with it.
        for (const response of open) response.shouldKeepAlive = false
        await model.close()
        await closed
      },
    }
  } catch (error) {
    await model.close()
    throw error
  }
}
