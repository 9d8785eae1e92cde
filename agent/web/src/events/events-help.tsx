/** The keyboard help of the EVENTS tab. */
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import '../ui/keys-list.css'
import { EVENT_KEYS, eventsWords } from '../words/events.ts'
import { generalWords } from '../words/general.ts'

export function EventsHelp({ isOpen, onChange }: { isOpen: boolean; onChange: (isOpen: boolean) => void }) {
  return (
    <ModalOverlay className="scrim" isOpen={isOpen} onOpenChange={onChange} isDismissable>
      <Modal className="modal">
        <Dialog>
          <Heading slot="title">{eventsWords.keyboard}</Heading>
          <dl className="keys">
            {EVENT_KEYS.map(([keys, what]) => (
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
              {generalWords.close}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
