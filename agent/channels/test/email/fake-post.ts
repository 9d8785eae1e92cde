/** A fake mail server (smtp-server) for outgoing email: what people receive, and what it rejects. */
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { PASSWORD } from './fake-mailbox.ts'

export type Got = Email & { raw: string; recipients: string[] }
/** `drop`: accept the email and close the connection without an answer. */
export type Fault = { code: number; message: string } | 'drop'
export type FakePost = {
  port: number
  /** In order of arrival. */
  got: Got[]
  /** How the next emails are answered. */
  fail(...faults: Fault[]): void
  close(): Promise<void>
}

export async function startFakePost(): Promise<FakePost> {
  const got: Got[] = []
  const faults: Fault[] = []
  async function take(raw: Buffer, recipients: string[], taken: () => void): Promise<void> {
    got.push({ ...(await new PostalMime().parse(raw)), raw: raw.toString(), recipients })
    taken()
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      password === PASSWORD ? done(null, { user: username ?? '' }) : done(new Error('wrong')),
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const fault = faults.shift()
        if (fault !== undefined && fault !== 'drop')
          return done(Object.assign(new Error(fault.message), { responseCode: fault.code }))
        const raw = Buffer.concat(chunks)
        void take(
          raw,
          envelope.rcptTo.map(({ address }) => address),
          () => {
            if (fault === 'drop') for (const connection of server.connections) connection.close()
            else done()
          },
        )
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.server.address() as AddressInfo).port,
    got,
    fail: (...next) => void faults.splice(0, faults.length, ...next),
    close: () => new Promise(resolve => void server.close(() => resolve())),
  }
}
