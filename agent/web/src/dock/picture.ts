/** Converts pictures for a message: small enough for its body, in a format that models read. */
import type { BodyOf } from '@cairn/protocol'
import { composerWords } from '../words/composer.ts'

export type Picture = NonNullable<BodyOf<'sendMessage'>['images']>[number]

const TAKEN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
/** Models scale down larger pictures. */
const MAX_PIXELS = 1568
/** Bytes of one picture before base64: five of them fit into the body of a message. */
const MAX_BYTES = 140_000
const QUALITIES = [0.88, 0.75, 0.6, 0.45]

export const isPicture = ({ type }: { type: string }): boolean => TAKEN.some(taken => taken === type)

export async function readPicture(file: File): Promise<Picture> {
  const type = TAKEN.find(taken => taken === file.type)
  if (type === undefined) throw new Error(composerWords.notPicture(file.name))
  if (file.size <= MAX_BYTES) return { data: await base64Of(file), mime_type: type }
  const bitmap = await createImageBitmap(file)
  for (let scale = Math.min(1, MAX_PIXELS / Math.max(bitmap.width, bitmap.height)); ; scale *= 0.7) {
    for (const quality of QUALITIES) {
      const blob = await drawn(bitmap, scale, quality)
      if (blob.size <= MAX_BYTES) return { data: await base64Of(blob), mime_type: 'image/jpeg' }
    }
  }
}

async function drawn(bitmap: ImageBitmap, scale: number, quality: number): Promise<Blob> {
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(bitmap.width * scale)),
    Math.max(1, Math.round(bitmap.height * scale)),
  )
  const context = canvas.getContext('2d')
  if (context === null) throw new Error(composerWords.noCanvas)
  // JPEG would turn transparent areas black.
  context.fillStyle = 'white'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return canvas.convertToBlob({ type: 'image/jpeg', quality })
}

export async function base64Of(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer())
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(text)
}
