/** The keyboard help of the EVENTS tab. */
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { eventsWords } from '../words/events.ts'
import { generalWords } from '../words/general.ts'

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [['j', '↓'], eventsWords.keys.down],
  [['k', '↑'], eventsWords.keys.up],
  [['Page Down', 'Page Up'], eventsWords.keys.pages],
  [['Home', 'End'], eventsWords.keys.ends],
  [['Enter'], eventsWords.keys.open],
  [['Esc'], eventsWords.keys.close],
  [['/'], eventsWords.keys.filter],
  [['g'], eventsWords.keys.jump],
  [['f'], eventsWords.keys.follow],
  [['c'], eventsWords.keys.copy],
  [['?'], eventsWords.keys.help],
]

export function EventsHelp({ isOpen, onChange }: { isOpen: boolean; onChange: (isOpen: boolean) => void }) {
  return (
    <ModalOverlay className="scrim" isOpen={isOpen} onOpenChange={onChange} isDismissable>
      <Modal className="modal">
        <Dialog>
          <Heading slot="title">{eventsWords.keyboard}</Heading>
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
              {generalWords.close}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
