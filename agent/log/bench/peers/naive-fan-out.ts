/**
 * The other half of the naive table: one connection listens, and what each NOTIFY carries goes to every open
 * stream. It is kinder than what is usual, for it reads nothing back. Started as a child with a PostgresSpec
 * less its port in argv; sends its port.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CHANNEL, connectPostgres } from './postgres-driver.ts'

const client = await connectPostgres(JSON.parse(process.argv[2] ?? '{}') as { url: string; schema: string })
const streams = new Set<ServerResponse>()
client.on('notification', ({ payload = '' }) => {
  const [session, ...text] = payload.split(' ')
  if (session !== '0') return
  const frame = Buffer.from(`data: ${text.join(' ')}\n\n`)
  for (const stream of streams) stream.write(frame)
})
await client.query(`LISTEN ${CHANNEL}`)
const server = createServer((req, res) => {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  res.flushHeaders()
  streams.add(res)
  req.on('close', () => streams.delete(res))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
process.on('disconnect', () => process.exit(0))
