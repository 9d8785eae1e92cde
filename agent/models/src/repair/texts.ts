/** Texts and pictures in the form that servers accept. */
import { createHash } from 'node:crypto'
import type { Image } from '@cairn/protocol'
import type { ServerProfile } from '../servers/profiles.ts'
import type { SentMessage } from './sent-message.ts'

const EMPTY = '(empty)'

/** Identifies a picture in `omitted_images` of a profile. */
export const imageKey = ({ data }: Image): string =>
  createHash('sha256').update(data).digest('hex').slice(0, 16)

/** Replaces pictures that may not be sent by a note, and removes empty texts. */
export function repairTexts(messages: readonly SentMessage[], profile: ServerProfile): SentMessage[] {
  const isShown = chooseImages(messages, profile)
  return messages.flatMap((message): SentMessage[] => {
    const content = message.content.toWellFormed()
    const isBlank = content.trim() === ''
    switch (message.role) {
      case 'system':
        return isBlank ? [] : [{ ...message, content }]
      case 'tool':
        return [{ ...message, content: isBlank ? EMPTY : content }]
      case 'assistant':
        if (!isBlank) return [{ ...message, content }]
        return message.tool_calls === undefined ? [] : [{ ...message, content: '' }]
      case 'user': {
        const { images: given = [], ...said } = message
        const images = given.filter(isShown)
        const notes = given
          .filter(image => !isShown(image))
          .map(image => `[Image not shown (${image.mime_type}): ${reasonOf(image, profile)}.]`)
        const text = [...(isBlank ? [] : [content]), ...notes].join('\n\n')
        if (images.length > 0) return [{ ...said, content: text, images }]
        return text === '' ? [] : [{ ...said, content: text }]
      }
    }
  })
}

const reasonOf = (image: Image, { vision, omitted_images }: ServerProfile): string =>
  !vision
    ? 'this model does not accept images'
    : omitted_images.includes(imageKey(image))
      ? 'the model server rejected it'
      : 'the model server limits the number of images; newer ones are shown'

/** The newest pictures within the limits of the profile. */
function chooseImages(
  messages: readonly SentMessage[],
  { vision, max_images, omitted_images }: ServerProfile,
): (image: Image) => boolean {
  if (!vision) return () => false
  if (max_images === null && omitted_images.length === 0) return () => true
  const accepted = messages
    .flatMap(message => (message.role === 'user' ? (message.images ?? []) : []))
    .filter(image => omitted_images.length === 0 || !omitted_images.includes(imageKey(image)))
  const shown = new Set(max_images === null ? accepted : accepted.slice(-max_images))
  return image => shown.has(image)
}
