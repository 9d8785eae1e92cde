/** Packs messages into parts of an import. A part has whole groups: an answer and all its results. */
import { type ImportedMessage, MAX_IMPORT_BYTES } from '@cairn/protocol'

/** Size of a part in bytes of JSON; a longer group is a part of its own. */
const PART_BYTES = 256 * 1024
/** Leaves room for the rest of the body. */
const MAX_GROUP = MAX_IMPORT_BYTES - 64 * 1024

export type Packer = {
  /** Returns the part that is full, if one is. */
  add(group: readonly ImportedMessage[]): ImportedMessage[] | null
  rest(): ImportedMessage[]
}

/** `onCut` is called for each group whose texts are cut to fit into a request. */
export function createPacker(onCut: () => void): Packer {
  let part: ImportedMessage[] = []
  let size = 0
  return {
    add: given => {
      let group = [...given]
      let bytes = bytesOf(group)
      if (bytes > MAX_GROUP) {
        onCut()
        group = cut(group)
        bytes = bytesOf(group)
      }
      const full = size > 0 && size + bytes > PART_BYTES ? part : null
      if (full !== null) {
        part = []
        size = 0
      }
      part.push(...group)
      size += bytes
      return full
    },
    rest: () => part,
  }
}

const bytesOf = (group: readonly ImportedMessage[]): number =>
  group.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)) + 1, 0)

/** Cuts each text to an equal share. JSON needs up to six bytes for a character. */
function cut(group: readonly ImportedMessage[]): ImportedMessage[] {
  const share = Math.floor(MAX_GROUP / 8 / group.length)
  return group.map(message => {
    const left = message.content.length - share
    return left <= 0
      ? message
      : {
          ...message,
          content: `${message.content.slice(0, share)}\n[${left} characters left out by the import]`,
        }
  })
}
