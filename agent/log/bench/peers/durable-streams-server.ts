/**
 * The reference server of Durable Streams with its file store, in a process of its own. Started as a child;
 * sends its port.
 */
import { pathToFileURL } from 'node:url'

type Server = { start(): Promise<string> }
const { module, dir } = JSON.parse(process.argv[2] ?? '{}') as { module: string; dir: string }
const { DurableStreamTestServer } = (await import(pathToFileURL(module).href)) as {
  DurableStreamTestServer: new (options: object) => Server
}
const url = await new DurableStreamTestServer({
  port: 0,
  host: '127.0.0.1',
  dataDir: dir,
  compression: false,
}).start()
process.send?.(Number(new URL(url).port))
process.on('disconnect', () => process.exit(0))
