/** Encodes the text arguments of the file tools. */

/** Rejects text that UTF-8 cannot represent, which Buffer.from would replace by U+FFFD without an error. */
export function encodeText(argument: string, text: string): Buffer {
  if (!text.isWellFormed())
    throw new Error(
      `${argument} has half of a surrogate pair, which UTF-8 cannot represent; write the whole character`,
    )
  return Buffer.from(text)
}
