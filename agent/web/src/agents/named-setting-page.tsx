/** A page of settings that are only text: their list, a form for a new one, and an editor on each. */
import { useQuery } from '@tanstack/react-query'
import { type ComponentType, type FormEvent, type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { PlusIcon } from '../ui/icons.tsx'
import { agentsWords } from '../words/agents.ts'
import { ConflictView } from './conflict.tsx'
import { FormLine } from './new-provider.tsx'
import { PublishBar } from './publish-bar.tsx'
import { SettingCard } from './setting-card.tsx'
import type { Form } from './setting-field.tsx'
import { type Kind, type Setting, settingsQuery } from './setting-queries.ts'
import { useSettingEditor } from './use-setting-editor.ts'

type Props = {
  kind: Kind
  title: string
  add: string
  none: string
  nameHint: string
  Fields: ComponentType<{ form: Form }>
  children?: (setting: Setting) => ReactNode
}

export function NamedSettingPage({ kind, title, add, none, nameHint, Fields, children }: Props) {
  const { data, error, isSuccess } = useQuery(settingsQuery(kind))
  const { data: me } = useQuery(meQuery)
  const [isAdding, setAdding] = useState(false)
  const [name, setName] = useState<string | null>(null)
  const items = data?.items ?? []
  const close = (): void => {
    setName(null)
    setAdding(false)
  }
  return (
    <div className="agents-section">
      <header>
        <h2>{title}</h2>
        {me?.admin === true && data?.editing === true && (
          <Button
            className="button"
            aria-expanded={isAdding}
            onPress={() => setAdding(!isAdding)}
            data-testid={`add-${kind}`}
          >
            <PlusIcon />
            {add}
          </Button>
        )}
      </header>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {isSuccess && items.length === 0 && !isAdding && <p className="faint">{none}</p>}
      {isAdding &&
        (name === null ? (
          <NameForm hint={nameHint} onNamed={setName} />
        ) : (
          <NewSetting kind={kind} name={name} Fields={Fields} onDone={close} />
        ))}
      <ul className="setting-cards">
        {items.map(item => (
          <SettingCard
            key={item.name}
            kind={kind}
            setting={item}
            facts={String(item.settings['description'] ?? '')}
            Fields={Fields}
          >
            {children?.(item)}
          </SettingCard>
        ))}
      </ul>
    </div>
  )
}

function NameForm({ hint, onNamed }: { hint: string; onNamed: (name: string) => void }) {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    onNamed(String(new FormData(event.currentTarget).get('name')).trim())
  }
  return (
    <form className="surface setting-form" onSubmit={submit}>
      <FormLine name="name" label={agentsWords.skillName} value="" hint={hint} testId="setting-name" />
      <div className="row-buttons">
        <Button className="button primary" type="submit" data-testid="name-setting">
          {agentsWords.add}
        </Button>
      </div>
    </form>
  )
}

const NOTHING = {}

type NewProps = Pick<Props, 'kind' | 'Fields'> & { name: string; onDone: () => void }

function NewSetting({ kind, name, Fields, onDone }: NewProps) {
  const editor = useSettingEditor(kind, name, onDone)
  const [isOpen, setOpen] = useState(false)
  // The first render begins the draft, unless one was kept.
  if (editor.draft === null) {
    if (isOpen) onDone()
    else {
      setOpen(true)
      editor.begin(0, NOTHING)
    }
    return null
  }
  return (
    <div className="surface setting-form">
      <h3>{name}</h3>
      <ConflictView editor={editor} />
      <Fields
        form={{
          settings: editor.draft.settings,
          defaults: NOTHING,
          errors: editor.errors,
          change: editor.change,
        }}
      />
      <PublishBar editor={editor} version={editor.draft.base} />
    </div>
  )
}
