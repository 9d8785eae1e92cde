/** Text of a model or a tool. Invisible characters are shown in a style that text cannot imitate. */
import { exactParts } from '@cairn/protocol'

export function ExactText({ text }: { text: string }) {
  const parts = exactParts(text)
  if (!parts.some(part => part.drawn)) return text
  return parts.map((part, index) =>
    part.drawn ? (
      <span key={index} className="drawn" data-testid="drawn">
        {part.text}
      </span>
    ) : (
      part.text
    ),
  )
}
