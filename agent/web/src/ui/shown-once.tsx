/** A secret that the server returns only once, with a button that copies it. */
import { Button } from 'react-aria-components'
import { CheckIcon } from './icons.tsx'
import { CopyIcon } from './page-icons.tsx'
import { useState } from 'react'
import './shown-once.css'
import { generalWords } from '../words/general.ts'

export function ShownOnce({ what, secret, onDone }: { what: string; secret: string; onDone: () => void }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(secret)
    setCopied(true)
  }
  return (
    <div className="shown-once" role="status" data-testid="shown-once">
      <p>
        {what} {generalWords.shownOnce}
      </p>
      <code className="mono">{secret}</code>
      <div className="actions">
        <Button
          className="button"
          onPress={() => {
            void copy()
          }}
        >
          {isCopied ? <CheckIcon /> : <CopyIcon />}
          {isCopied ? generalWords.copied : generalWords.copy}
        </Button>
        <Button className="button quiet" onPress={onDone}>
          {generalWords.done}
        </Button>
      </div>
    </div>
  )
}
