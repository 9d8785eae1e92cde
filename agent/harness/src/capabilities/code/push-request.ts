/**
 * Reads a `git push` from the head of its request (gitprotocol-pack): a line per ref, then a flush, then the
 * pack. Also builds the refusal that git shows.
 */
export type RefUpdate = {
  ref: string
  /** Object ids; all zeros: the ref did not exist, or will be deleted. */
  old: string
  new: string
}

export type PushHead = {
  /** Empty: git only checks its permission and pushes nothing yet. */
  updates: readonly RefUpdate[]
  capabilities: ReadonlySet<string>
}

/** A push that cannot be parsed is never forwarded. */
export class UnreadPush extends Error {
  override readonly name = 'UnreadPush'
}

const MAX_HEAD = 64 * 1024
const MAX_UPDATES = 50
const COMMAND = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (refs\/[^\0\n]+)(?:\0([^\n]*))?\n?$/
const SHALLOW = /^shallow [0-9a-f]+\n?$/

/** Null: more bytes are needed. */
export function readPushHead(bytes: Buffer): PushHead | null {
  const updates: RefUpdate[] = []
  let capabilities: readonly string[] = []
  for (let at = 0; ;) {
    if (at > MAX_HEAD) throw new UnreadPush('it names too many refs')
    if (bytes.length < at + 4) return null
    const digits = bytes.toString('latin1', at, at + 4)
    if (!/^[0-9a-f]{4}$/i.test(digits)) throw new UnreadPush('it is not in the format of git')
    const size = Number.parseInt(digits, 16)
    if (size === 0) return { updates, capabilities: new Set(capabilities) }
    if (size <= 4) throw new UnreadPush('it is not in the format of git')
    if (bytes.length < at + size) return null
    const line = bytes.toString('utf8', at + 4, at + size)
    at += size
    if (SHALLOW.test(line)) continue
    const [, before, after, ref, words] = COMMAND.exec(line) ?? []
    if (before === undefined || after === undefined || ref === undefined)
      throw new UnreadPush('one of its lines is not a ref update (signed pushes are not supported)')
    if (words !== undefined) capabilities = words.trim().split(' ')
    updates.push({ ref, old: before, new: after })
    if (updates.length > MAX_UPDATES) throw new UnreadPush(`it updates more than ${MAX_UPDATES} refs`)
  }
}

const packet = (data: Buffer): Buffer =>
  Buffer.concat([Buffer.from((data.length + 4).toString(16).padStart(4, '0')), data])
const FLUSH = Buffer.from('0000')

/** Reports each ref as rejected with the reason; null: this git does not read reports. */
export function refusedPush({ updates, capabilities }: PushHead, reason: string): Buffer | null {
  const has = (name: string): boolean => capabilities.has(name)
  if (!has('report-status') && !has('report-status-v2')) return null
  const lines = ['unpack ok\n', ...updates.map(({ ref }) => `ng ${ref} ${reason}\n`)]
  const report = Buffer.concat([...lines.map(line => packet(Buffer.from(line))), FLUSH])
  if (!has('side-band-64k')) return report
  return Buffer.concat([packet(Buffer.concat([Buffer.from([1]), report])), FLUSH])
}
