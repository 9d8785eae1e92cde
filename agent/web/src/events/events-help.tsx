/** The keys of the EVENTS tab. */
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [['j', '↓'], 'next row'],
  [['k', '↑'], 'row before'],
  [['Page Down', 'Page Up'], 'a screen down, up'],
  [['Home', 'End'], 'first row, last row'],
  [['Enter'], 'open the detail'],
  [['Esc'], 'close the detail, leave a field'],
  [['/'], 'filter by text'],
  [['g'], 'go to an id'],
  [['f'], 'follow the tail'],
  [['c'], 'copy the event as JSON'],
  [['?'], 'this help'],
]

export function EventsHelp({ isOpen, onChange }: { isOpen: boolean; onChange: (isOpen: boolean) => void }) {
  return (
    <ModalOverlay className="scrim" isOpen={isOpen} onOpenChange={onChange} isDismissable>
      <Modal className="modal">
        <Dialog>
          <Heading slot="title">Keyboard</Heading>
          <dl className="keys">
            {KEYS.map(([keys, what]) => (
              <div key={what}>
                <dt>
                  {keys.map(key => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <div className="actions">
            <Button className="button" onPress={() => onChange(false)} autoFocus>
              Close
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
