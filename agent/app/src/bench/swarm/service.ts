/** The service of the swarm, in a process of its own, so that its CPU and memory are nobody else's. */
import { join } from 'node:path'
import { Config } from '@cairn/protocol'
import { localToken } from '../../local/local-admin.ts'
import { startService } from '../../main.ts'
import { createLogger } from '../../serve/logging.ts'
import { MODEL, type ServiceReport, type ServiceStart, TITLE_MODEL } from './protocol.ts'

const tell = (report: ServiceReport): void => void process.send?.(report)

async function start({ modelUrl, dir }: ServiceStart): Promise<void> {
  const dataDir = join(dir, 'data')
  const service = await startService({
    config: Config.parse({
      models: { providers: { swarm: { kind: 'openai', base_url: modelUrl } } },
      agents: { assistant: { model: `swarm/${MODEL}`, summary_model: `swarm/${TITLE_MODEL}` } },
      limits: { concurrent_turns: 5_000, requests_per_minute: 1_000_000, streams_per_principal: 100_000 },
    }),
    demo: false,
    env: {},
    database: null,
    role: 'all',
    dataDir,
    workspacesDir: join(dir, 'workspaces'),
    configDir: dir,
    host: '127.0.0.1',
    port: 0,
    createLog: redact =>
      createLogger({
        level: 'error',
        pretty: false,
        redact,
        now: Date.now,
        write: line => void process.stderr.write(line),
      }),
  })
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    tell({ cpu_ms: (user + system) / 1000, peak_rss_mb: process.resourceUsage().maxRSS / 1024 })
  })
  process.once('disconnect', () => void service.stop().finally(() => process.exit(0)))
  tell({ url: service.url, token: await localToken(dataDir) })
}

process.once('message', (given: ServiceStart) => {
  start(given).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
