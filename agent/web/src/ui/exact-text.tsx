/** Text of a model or a tool. What does not show is drawn, in a look that written text cannot have. */
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
