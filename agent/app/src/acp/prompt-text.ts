/** Converts the content of a client's prompt to a message of Cairn. */
import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk'
import type { BodyOf } from '@cairn/protocol'

type Message = Pick<BodyOf<'sendMessage'>, 'content' | 'images'>
type ImageType = NonNullable<Message['images']>[number]['mime_type']

const IMAGES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] satisfies ImageType[]
const isImage = (type: string): type is ImageType => IMAGES.includes(type)

/** Rejects content that the agent did not declare: audio, and files that are not text. */
export function messageOf(blocks: readonly ContentBlock[]): Message {
  const parts: string[] = []
  const images: NonNullable<Message['images']> = []
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        parts.push(block.text)
        break
      case 'resource_link':
        parts.push(`[${block.name}](${block.uri})`)
        break
      case 'resource':
        if (!('text' in block.resource))
          throw RequestError.invalidParams({ block: block.type }, 'embedded resources must be text')
        parts.push(`${block.resource.uri}:\n\`\`\`\n${block.resource.text}\n\`\`\``)
        break
      case 'image':
        if (!isImage(block.mimeType))
          throw RequestError.invalidParams(
            { mime_type: block.mimeType },
            `images must be ${IMAGES.join(', ')}`,
          )
        images.push({ data: block.data, mime_type: block.mimeType })
        break
      default:
        throw RequestError.invalidParams({ block: block.type }, 'expected text, images, resources or links')
    }
  }
  const content = parts.join('\n\n')
  return {
    content: content.trim() === '' ? (images.length > 0 ? '(an image)' : content) : content,
    ...(images.length > 0 ? { images } : {}),
  }
}
