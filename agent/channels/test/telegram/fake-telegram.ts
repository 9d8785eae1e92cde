/** A Bot API server: chats, updates, messages, files, and failures of the platform. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export const TOKEN = '4242:AAcanary-of-a-token-that-no-log-may-hold'
const ME = { id: 4242, is_bot: true, first_name: 'Cairn', username: 'cairn_bot' }

type Button = { text: string; callback_data: string }
export type Shown = {
  message_id: number
  chat_id: number
  thread_id?: number
  text: string
  rich: boolean
  buttons: Button[]
  edits: number
  file?: { name: string; bytes: number }
}
type Fields = Record<string, unknown>
type Update = Fields & { update_id: number }
/** `drop`: accept the request and close the connection without an answer. */
type Fault = 'drop' | { error_code: number; description: string; parameters?: Fields }

export const ANN = { id: 7, is_bot: false, first_name: 'Ann', last_name: 'Doe', language_code: 'en' }
export const BOB = { id: 8, is_bot: false, first_name: 'Bob', language_code: 'de' }
export const DIRECT = { id: 7, type: 'private', first_name: 'Ann' }
export const GROUP = { id: -100, type: 'supergroup', title: 'Team' }

export async function startFakeTelegram() {
  const messages: Shown[] = []
  const calls: { method: string; fields: Fields }[] = []
  const alerts: string[] = []
  const faults = new Map<string, Fault[]>()
  const files = new Map<string, Buffer>()
  let updates: Update[] = []
  let nextId = 100
  let webhook: Fields | null = null
  /** The pending poll; a second one ends it with a conflict. */
  let waiting: { wake: () => void; end: (answer: Fields) => void } | null = null

  const conflict = { ok: false, error_code: 409, description: 'Conflict: terminated by other getUpdates' }
  function getUpdates({ offset = 0, timeout = 0 }: Fields): Promise<Fields> {
    waiting?.end(conflict)
    const begin = Number(offset)
    updates = updates.filter(({ update_id }) => update_id >= begin)
    if (updates.length > 0 || Number(timeout) === 0) return Promise.resolve({ ok: true, result: updates })
    return new Promise(resolve => {
      const end = (answer: Fields): void => {
        waiting = null
        clearTimeout(timer)
        resolve(answer)
      }
      const wake = (): void => end({ ok: true, result: updates })
      const timer = setTimeout(wake, Number(timeout) * 1000)
      waiting = { wake, end }
    })
  }

  function put(fields: Fields, text: string, rich: boolean, file?: Shown['file']): Fields {
    const { inline_keyboard = [] } = (fields['reply_markup'] ?? {}) as { inline_keyboard?: Button[][] }
    const shown: Shown = {
      message_id: nextId++,
      chat_id: Number(fields['chat_id']),
      ...(fields['message_thread_id'] === undefined
        ? {}
        : { thread_id: Number(fields['message_thread_id']) }),
      text,
      rich,
      buttons: inline_keyboard.flat(),
      edits: 0,
      ...(file === undefined ? {} : { file }),
    }
    messages.push(shown)
    const chat = { id: shown.chat_id, type: shown.chat_id > 0 ? 'private' : 'supergroup' }
    return { message_id: shown.message_id, date: 1, chat, from: ME, text }
  }
  const richText = (fields: Fields): string => (fields['rich_message'] as { markdown: string }).markdown
  const METHODS: Record<string, (fields: Fields) => unknown> = {
    getMe: () => ME,
    setMyCommands: () => true,
    deleteWebhook() {
      webhook = null
      return true
    },
    setWebhook(fields) {
      webhook = fields
      return true
    },
    sendChatAction: () => true,
    sendMessage: fields => put(fields, String(fields['text']), false),
    sendRichMessage: fields => put(fields, richText(fields), true),
    sendDocument: fields => put(fields, String(fields['caption']), false, fields['file'] as Shown['file']),
    sendPhoto: fields => put(fields, String(fields['caption']), false, fields['file'] as Shown['file']),
    answerCallbackQuery: fields => fields['text'] === undefined || alerts.push(String(fields['text'])) > 0,
    getFile: ({ file_id }) => ({ file_id, file_unique_id: file_id, file_path: `files/${String(file_id)}` }),
    editMessageText(fields) {
      const shown = messages.find(({ message_id }) => message_id === Number(fields['message_id']))
      if (shown === undefined)
        return { error_code: 400, description: 'Bad Request: message to edit not found' }
      const text = fields['rich_message'] === undefined ? String(fields['text']) : richText(fields)
      if (text === shown.text)
        return { error_code: 400, description: 'Bad Request: message is not modified: same' }
      shown.text = text
      shown.edits += 1
      return true
    },
  }

  async function answer(path: string, req: IncomingMessage): Promise<Fields | Buffer | null> {
    const [, kind, method = ''] = /^\/(file\/)?bot[^/]+\/(.+)$/.exec(path) ?? []
    if (!path.includes(`bot${TOKEN}/`)) return { ok: false, error_code: 401, description: 'Unauthorized' }
    if (kind !== undefined) return files.get(method.replace('files/', '')) ?? null
    const fields = await readFields(req)
    calls.push({ method, fields })
    const fault = faults.get(method)?.shift()
    if (fault !== undefined && fault !== 'drop') return { ok: false, ...fault }
    if (method === 'getUpdates') return getUpdates(fields)
    const result = METHODS[method]?.(fields)
    if (result === undefined) return { ok: false, error_code: 404, description: 'Not Found' }
    if (fault === 'drop') return null
    return typeof result === 'object' && result !== null && 'error_code' in result
      ? { ok: false, ...result }
      : { ok: true, result }
  }

  const server = createServer((req, res) => {
    void answer(req.url ?? '', req).then(body => {
      if (body === null) return res.destroy()
      if (Buffer.isBuffer(body)) return res.end(body)
      const status = body['ok'] === true ? 200 : Number(body['error_code'])
      return res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))

  let updateId = 1
  const push = (update: Fields): Update => {
    const full = { update_id: updateId++, ...update }
    updates.push(full)
    waiting?.wake()
    return full
  }
  const message = (text: string, more: Fields = {}): Fields => ({
    message_id: nextId++,
    date: Math.floor(Date.now() / 1000),
    chat: DIRECT,
    from: ANN,
    ...(text === '' ? {} : { text }),
    ...more,
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    alerts,
    calls,
    files,
    webhook: () => webhook,
    fail: (method: string, ...next: Fault[]) => void faults.set(method, next),
    push,
    /** A person writes. */
    say: (text: string, more: Fields = {}) => push({ message: message(text, more) }),
    edit: (update: Update, text: string) =>
      push({ edited_message: { ...(update['message'] as Fields), text, edit_date: 2 } }),
    press(label: string, from: Fields = ANN) {
      const shown = messages.findLast(({ buttons }) => buttons.some(({ text }) => text === label))
      const data = shown?.buttons.find(({ text }) => text === label)?.callback_data
      const chat = { id: shown?.chat_id, type: 'private' }
      const at = { message_id: shown?.message_id, date: 1, chat, text: shown?.text }
      return push({ callback_query: { id: `q${nextId++}`, from, message: at, chat_instance: 'x', data } })
    },
    close: () =>
      new Promise<void>(resolve => {
        waiting?.end({ ok: true, result: [] })
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
export type FakeTelegram = Awaited<ReturnType<typeof startFakeTelegram>>

/** JSON, or a form with one file. */
async function readFields(req: IncomingMessage): Promise<Fields> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const type = req.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/')) return body.length === 0 ? {} : (JSON.parse(body.toString()) as Fields)
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  const fields: Fields = {}
  for (const [name, value] of form)
    if (typeof value === 'string') fields[name] = value
    else fields['file'] = { name: value.name, bytes: value.size }
  return fields
}
