/**
 * A fake mailbox with the part of IMAP4rev1 that imapflow uses: LOGIN, SELECT, SEARCH, FETCH, STORE, IDLE.
 * `npm run dev -- interop:email` tests the adapter with Dovecot.
 */
import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export const USER = 'a@example.org'
export const PASSWORD = 'canary-of-a-password-that-no-log-may-hold'

type Mail = { uid: number; raw: Buffer; flags: Set<string>; at: Date }
export type FakeMailbox = {
  port: number
  /** Delivers an email. */
  put(raw: string, at?: Date): number
  mails(): Mail[]
  /** Assigns new UIDs to all emails. */
  renumber(): void
  /** Closes every connection. */
  drop(): void
  /** Rejects this number of logins. */
  refuseLogins(times: number): void
  /** The number of successful logins. */
  logins(): number
  close(): Promise<void>
}

export async function startFakeMailbox(): Promise<FakeMailbox> {
  let uidvalidity = 1
  let uidNext = 1
  let refused = 0
  let logins = 0
  let mails: Mail[] = []
  /** The number of emails that each connection knows of. */
  const sockets = new Map<Socket, number>()
  const announce = (socket: Socket): void => {
    if (sockets.get(socket) !== mails.length) socket.write(`* ${mails.length} EXISTS\r\n`)
    sockets.set(socket, mails.length)
  }
  const idling = new Map<Socket, string>()
  const server = createServer(socket => {
    sockets.set(socket, 0)
    socket.on('close', () => {
      sockets.delete(socket)
      idling.delete(socket)
    })
    socket.on('error', () => undefined)
    const say = (line: string): void => void socket.write(`${line}\r\n`)
    say('* OK [CAPABILITY IMAP4rev1 IDLE] ready')
    let pending = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      pending += chunk
      for (let end = pending.indexOf('\r\n'); end >= 0; end = pending.indexOf('\r\n')) {
        const line = pending.slice(0, end)
        pending = pending.slice(end + 2)
        answer(socket, say, line)
      }
    })
  })
  function answer(socket: Socket, say: (line: string) => void, line: string): void {
    if (line === 'DONE') {
      say(`${idling.get(socket)} OK done`)
      idling.delete(socket)
      return
    }
    const [, tag = '*', verb = '', rest = ''] = /^(\S+) (UID \S+|\S+) ?(.*)$/i.exec(line) ?? []
    const ok = (text = 'done'): void => {
      announce(socket)
      say(`${tag} OK ${text}`)
    }
    switch (verb.toUpperCase()) {
      case 'LOGIN':
        if (refused > 0 || !rest.includes(PASSWORD)) {
          refused -= 1
          return say(`${tag} NO [AUTHENTICATIONFAILED] wrong`)
        }
        logins += 1
        return ok()
      case 'CAPABILITY':
        say('* CAPABILITY IMAP4rev1 IDLE')
        return ok()
      case 'LIST':
        say(String.raw`* LIST (\HasNoChildren) "/" "INBOX"`)
        return ok()
      case 'SELECT':
      case 'EXAMINE':
        say(String.raw`* FLAGS (\Seen)`)
        say(`* ${mails.length} EXISTS`)
        sockets.set(socket, mails.length)
        say(`* OK [UIDVALIDITY ${uidvalidity}] numbers`)
        say(`* OK [UIDNEXT ${uidNext}] next`)
        return ok('[READ-WRITE] selected')
      case 'UID SEARCH': {
        const from = Number(/UID (\d+):\*/i.exec(rest)?.[1] ?? 1)
        const found = mails.filter(({ uid }) => uid >= from || uid === mails.at(-1)?.uid)
        say(`* SEARCH ${found.map(({ uid }) => uid).join(' ')}`)
        return ok()
      }
      case 'UID FETCH': {
        const at = mails.findIndex(({ uid }) => uid === Number.parseInt(rest, 10))
        const mail = mails[at]
        if (mail !== undefined) fetched(socket, at + 1, mail, rest)
        return ok()
      }
      case 'UID STORE':
        mails.find(({ uid }) => uid === Number.parseInt(rest, 10))?.flags.add(String.raw`\Seen`)
        return ok()
      case 'IDLE':
        idling.set(socket, tag)
        say('+ idling')
        return announce(socket)
      case 'LOGOUT':
        say('* BYE')
        ok()
        return void socket.end()
      default:
        return ok()
    }
  }
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    put(raw, at = new Date()) {
      const uid = uidNext++
      mails.push({ uid, raw: Buffer.from(raw.replaceAll(/\r?\n/g, '\r\n')), flags: new Set(), at })
      for (const socket of idling.keys()) announce(socket)
      return uid
    },
    mails: () => mails,
    renumber() {
      uidvalidity += 1
      mails = mails.map((mail, at) => ({ ...mail, uid: at + 101 }))
      uidNext = mails.length + 101
    },
    drop: () => sockets.forEach((_told, socket) => socket.destroy()),
    refuseLogins: times => void (refused = times),
    logins: () => logins,
    close() {
      sockets.forEach((_told, socket) => socket.destroy())
      return new Promise(resolve => void server.close(() => resolve()))
    },
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const dateOf = (at: Date): string =>
  `${String(at.getUTCDate()).padStart(2, ' ')}-${MONTHS[at.getUTCMonth()]}-${at.getUTCFullYear()} ` +
  `${at.toISOString().slice(11, 19)} +0000`

function fetched(socket: Socket, seq: number, { uid, raw, at }: Mail, asked: string): void {
  const items = [`UID ${uid}`]
  if (/RFC822\.SIZE/i.test(asked)) items.push(`RFC822.SIZE ${raw.length}`)
  if (/INTERNALDATE/i.test(asked)) items.push(`INTERNALDATE "${dateOf(at)}"`)
  const isHeader = /BODY\.PEEK\[HEADER\]/i.test(asked)
  if (!isHeader && !/BODY\.PEEK\[\]/i.test(asked))
    return void socket.write(`* ${seq} FETCH (${items.join(' ')})\r\n`)
  const body = isHeader ? raw.subarray(0, raw.indexOf('\r\n\r\n') + 4) : raw
  const section = isHeader ? 'HEADER' : ''
  socket.write(`* ${seq} FETCH (${items.join(' ')} BODY[${section}] {${body.length}}\r\n`)
  socket.write(body)
  socket.write(')\r\n')
}
