/** The keys of the product by page, those of the open page first; loaded on first use. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { Button, Heading } from 'react-aria-components'
import { client } from '../api.ts'
import { meQuery } from '../queries.ts'
import { scrollRegion } from '../ui/scroll-region.ts'
import { ModalDialog } from '../ui/modal.tsx'
import type { NAV_PAGES } from './nav-pages.ts'
import '../ui/keys-list.css'
import './keys-dialog.css'
import { generalWords } from '../words/general.ts'
import { KEY_AREAS, type KeyRow, keysWords, withoutLetters } from '../words/keys.ts'

type Props = { pages: typeof NAV_PAGES; onClose: () => void }

/** The area of the product that an address belongs to. */
const isIn = (path: string, at: RegExp): boolean => at.test(path)

// React.lazy needs a default export.
export default function KeysDialog({ pages, onClose }: Props) {
  const path = useRouterState({ select: state => state.location.pathname })
  const { data: me } = useQuery(meQuery)
  const hasLetters = me?.letter_keys !== false
  const go = pages.map(({ key, label }): KeyRow => [[keysWords.go, key.toUpperCase()], label])
  const everywhere = { title: keysWords.everywhere, rows: [...keysWords.everywhereRows, ...go] }
  const areas = [
    ...KEY_AREAS.filter(({ at }) => isIn(path, at)),
    everywhere,
    ...KEY_AREAS.filter(({ at }) => !isIn(path, at)),
  ].map(({ title, rows }) => ({
    title,
    rows: hasLetters ? rows : rows.map(withoutLetters).filter(row => row !== null),
  }))
  return (
    <ModalDialog onClose={onClose} className="modal keys-modal">
      <Heading slot="title">{keysWords.title}</Heading>
      <LetterKeys isOn={hasLetters} />
      <div className="keys-areas" data-testid="keys" {...scrollRegion(keysWords.title)}>
        {areas
          .filter(({ rows }) => rows.length > 0)
          .map(({ title, rows }) => (
            <Area key={title} title={title} rows={rows} />
          ))}
      </div>
      <div className="actions">
        <Button className="button" onPress={onClose} autoFocus>
          {generalWords.close}
        </Button>
      </div>
    </ModalDialog>
  )
}

/** The setting that switches single-letter keys off (WCAG 2.1.4). The server keeps it for the person. */
function LetterKeys({ isOn }: { isOn: boolean }) {
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: (letter_keys: boolean) => client.call('changePreferences', { body: { letter_keys } }),
    onSuccess: me => queries.setQueryData(meQuery.queryKey, me),
  })
  return (
    <div className="keys-setting">
      <label>
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => change.mutate(target.checked)}
          aria-describedby="letter-keys-note"
          data-testid="letter-keys"
        />
        {keysWords.letterKeys}
      </label>
      <p className="muted" id="letter-keys-note">
        {isOn ? keysWords.letterKeysNote : keysWords.letterKeysOff}
      </p>
    </div>
  )
}

const Area = ({ title, rows }: { title: string; rows: readonly KeyRow[] }) => (
  <section className="keys-area">
    <h3>{title}</h3>
    <dl className="keys">
      {rows.map(([keys, text]) => (
        <div key={keys.join(' ')}>
          <dt>
            {keys.map(key => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </section>
)
