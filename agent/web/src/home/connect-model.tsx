/** How to replace the scripted model by a real one; loaded on first use. */
import { Link } from '@tanstack/react-router'
import { Button, Heading } from 'react-aria-components'
import { CopyButton } from '../ui/copy-button.tsx'
import { ModalDialog } from '../ui/modal.tsx'
import { generalWords } from '../words/general.ts'
import { rich } from '../words/rich.tsx'
import { connectWords } from '../words/frame-dialogs.ts'

const WORDS = connectWords

// React.lazy needs a default export.
export default function ConnectModel({ onClose }: { onClose: () => void }) {
  return (
    <ModalDialog onClose={onClose}>
      <Heading slot="title">{WORDS.title}</Heading>
      <p>{rich(WORDS.text, { file: <code>cairn.yaml</code>, command: <code>cairn init</code> })}</p>
      <div className="shown-code">
        <pre className="excerpt" data-testid="connect-example">
          {WORDS.example}
        </pre>
        <CopyButton text={WORDS.example} name={WORDS.copy} />
      </div>
      <p className="muted">{WORDS.variables}</p>
      <div className="actions">
        <Button className="button" onPress={onClose}>
          {generalWords.close}
        </Button>
        <Link
          to="/agents/$"
          params={{ _splat: '-/models' }}
          className="button primary"
          onClick={onClose}
          data-testid="connect-here"
        >
          {WORDS.connect}
        </Link>
      </div>
    </ModalDialog>
  )
}
