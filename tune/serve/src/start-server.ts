/** The whole server: the model, its adapters, and HTTP in front of them. */
import { lookup } from 'node:dns/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InputError } from '@cairn-tune/weights'
import { createAdapterRegistry } from './adapter-registry.ts'
import { ApiError } from './errors.ts'
import { createAccessControl } from './http/access-control.ts'
import { UPDATING_NEEDS_KEY, handle, type App } from './http/routes.ts'
import { DEFAULTS, type ServeOptions } from './serve-options.ts'
import { loadServedModel } from './served-model.ts'

/** Errors of an address that the user chose. */
const LISTEN_ERRORS = new Set(['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND', 'EAI_AGAIN'])

/**
 * Closes connections that send nothing, or a head or body that never ends, before they use up the process's
 * file descriptors. 8 MiB in two minutes are 70 KB/s.
 */
const connectionLimits = (headersTimeout = 20_000) => ({
  headersTimeout,
  requestTimeout: 6 * headersTimeout,
  connectionsCheckingInterval: headersTimeout / 4,
})

export type RunningServer = { url: string; close(): Promise<void> }

/** Loads the model and its initial adapters, then listens. */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const log = options.log ?? (() => undefined)
  const env = options.env ?? process.env
  const port = options.port ?? DEFAULTS.port
  if (port > 65_535) throw new InputError(`--port must be between 0 and 65535, got ${port}`)
  const host = options.host ?? DEFAULTS.host
  const unusable = (cause: NodeJS.ErrnoException): Error =>
    LISTEN_ERRORS.has(cause.code ?? '')
      ? new InputError(
          `cannot listen on ${host}, port ${port} (${cause.message}); use another --port or --host`,
          { cause },
        )
      : cause
  // Access control depends on the address, so it must be known before the first request.
  const { address: bound } = await lookup(host).catch((error: NodeJS.ErrnoException) => {
    throw unusable(error)
  })
  const model = await loadServedModel({
    ...options,
    enableLora: options.enableLora ?? Object.keys(options.loraModules ?? {}).length > 0,
  })
  try {
    const app: App = {
      model,
      adapters: createAdapterRegistry(model),
      started: Math.floor(Date.now() / 1000),
      access: createAccessControl({
        apiKeys: [...(options.apiKeys ?? []), ...[env['VLLM_API_KEY'] ?? []].flat()].filter(
          key => key !== '',
        ),
        allowedOrigins: options.allowedOrigins ?? [],
        address: bound,
        host,
      }),
      allowsUpdating: /^(?:true|1)$/i.test(env['VLLM_ALLOW_RUNTIME_LORA_UPDATING'] ?? ''),
      log,
    }
    if (app.allowsUpdating && !app.access.mayUpdate) log(UPDATING_NEEDS_KEY)
    for (const [name, path] of Object.entries(options.loraModules ?? {})) {
      await app.adapters.load(name, path).catch((error: unknown) => {
        // A client would get this message; here it is for the user who started the server.
        throw error instanceof ApiError ? new InputError(error.message, { cause: error }) : error
      })
    }
    const open = new Set<ServerResponse>()
    const server = createServer(connectionLimits(options.headersTimeoutMs), (request, response) => {
      open.add(response)
      response.once('close', () => open.delete(response))
      void handle(app, request, response)
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause: NodeJS.ErrnoException) => reject(unusable(cause)))
      server.listen(port, bound, resolve)
    })
    const { address, port: own, family } = server.address() as AddressInfo
    return {
      url: `http://${family === 'IPv6' ? `[${address}]` : address}:${own}`,
      async close() {
        const closed = new Promise<void>(resolve => server.close(() => resolve()))
        // Responses in progress end with an error, and their connections close.
        for (const response of open) response.shouldKeepAlive = false
        await app.adapters.close()
        await model.close()
        await closed
      },
    }
  } catch (error) {
    await model.close()
    throw error
  }
}
