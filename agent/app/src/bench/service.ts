/** The service of a benchmark, in a separate process so that its CPU and memory can be measured. */
import { join } from 'node:path'
import { Config } from '@cairn/protocol'
import { localToken } from '../local/local-admin.ts'
import { databaseOf } from '../local/open-store.ts'
import { startService } from '../main.ts'
import { createLogger } from '../serve/logging.ts'
import { ownUsage, type ServiceReport, type ServiceStart } from './service-protocol.ts'

const tell = (report: ServiceReport): void => void process.send?.(report)

async function start({ dir, config, env, database }: ServiceStart): Promise<void> {
  const dataDir = join(dir, 'data')
  const service = await startService({
    config: Config.parse(config),
    demo: false,
    env,
    database: databaseOf({ DATABASE_URL: database }),
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
  process.on('message', () => tell(ownUsage()))
  process.once('disconnect', () => void service.stop().finally(() => process.exit(0)))
  tell({ url: service.url, token: await localToken(dataDir) })
}

process.once('message', (given: ServiceStart) => {
  start(given).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
