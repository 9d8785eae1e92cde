/** The keys of the Run view; loaded on first use. */
import { Button, Heading } from 'react-aria-components'
import { ModalDialog } from '../ui/modal.tsx'
import { generalWords } from '../words/general.ts'
import '../ui/keys-list.css'
import { runWords } from '../words/run.ts'

// React.lazy needs a default export.
export default function RunHelp({ onClose }: { onClose: () => void }) {
  return (
    <ModalDialog onClose={onClose}>
      <Heading slot="title">{runWords.keysTitle}</Heading>
      <dl className="keys" data-testid="run-keys">
        {runWords.keys.map(([keys, text]) => (
          <div key={text}>
            <dt>
              {keys.split(' ').map(key => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <div className="actions">
        <Button className="button" onPress={onClose} autoFocus>
          {generalWords.close}
        </Button>
      </div>
    </ModalDialog>
  )
}
