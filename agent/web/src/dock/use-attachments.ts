/** The attachments of the next message: pictures, and files that are uploaded to the workspace at once. */
import { useState } from 'react'
import type { BodyOf } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { say } from '../ui/toasts.tsx'
import { base64Of, isPicture, type Picture, readPicture } from './picture.ts'
import { composerWords } from '../words/composer.ts'

type FileRef = NonNullable<BodyOf<'sendMessage'>['attachments']>[number]
export type Attached = { id: number; name: string; state: 'reading' | 'ready' } & (
  { kind: 'picture'; value: Picture | null } | { kind: 'file'; value: FileRef | null }
)
export type Carried = Pick<BodyOf<'sendMessage'>, 'attachments' | 'images'>

/** The limits of `SendMessage` in the contract. */
const MAX_FILES = { picture: 5, file: 10 }
/** Bytes of one file before base64: the limit of a request body. */
const MAX_FILE_BYTES = 700_000

let lastId = 0

export function useAttachments(sessionId: string) {
  const [attached, setAttached] = useState<readonly Attached[]>([])
  const remove = (id: number) => setAttached(all => all.filter(one => one.id !== id))
  const read = async (id: number, file: File) => {
    try {
      const value = isPicture(file) ? await readPicture(file) : await putFile(sessionId, file)
      setAttached(all =>
        all.map(one => (one.id === id ? ({ ...one, state: 'ready', value } as Attached) : one)),
      )
    } catch (error) {
      remove(id)
      say(`${file.name}: ${describeError(error)}`, 'error')
    }
  }
  const add = (files: Iterable<File>) => {
    for (const file of files) {
      const kind = isPicture(file) ? 'picture' : 'file'
      const id = ++lastId
      setAttached(all => {
        if (all.filter(one => one.kind === kind).length >= MAX_FILES[kind]) return all
        return [...all, { id, name: file.name, kind, state: 'reading', value: null }]
      })
      void read(id, file)
    }
  }
  return {
    attached,
    add,
    remove,
    clear: () => setAttached([]),
    isReading: attached.some(({ state }) => state === 'reading'),
    carried: (): Carried => carry(attached),
  }
}

/** Uploads the files of a message that starts a session, and returns what the message carries. */
export async function uploadAll(sessionId: string, files: readonly File[]): Promise<Carried> {
  const attached: Attached[] = []
  for (const [id, file] of files.entries()) {
    const about = { id, name: file.name, state: 'ready' } as const
    if (isPicture(file)) attached.push({ ...about, kind: 'picture', value: await readPicture(file) })
    else attached.push({ ...about, kind: 'file', value: await putFile(sessionId, file) })
  }
  return carry(attached)
}

function carry(attached: readonly Attached[]): Carried {
  const images = attached.flatMap(one => (one.kind === 'picture' && one.value ? [one.value] : []))
  const attachments = attached.flatMap(one => (one.kind === 'file' && one.value ? [one.value] : []))
  return {
    ...(images.length > 0 && { images }),
    ...(attachments.length > 0 && { attachments }),
  }
}

async function putFile(sessionId: string, file: File): Promise<FileRef> {
  if (file.size > MAX_FILE_BYTES) throw new Error(composerWords.tooLarge(file.size, MAX_FILE_BYTES))
  return client.call('putWorkspaceFile', {
    params: { id: sessionId },
    body: {
      filename: file.name,
      content: await base64Of(file),
      ...(file.type !== '' && { mime_type: file.type }),
    },
    idempotencyKey: crypto.randomUUID(),
  })
}
