/** The saved views of the sessions: filters under a name. The server keeps them for the person. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, type RefObject, useState } from 'react'
import { Button, Heading } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { type Filters, readFilters } from '../session-filters.ts'
import { Field } from '../ui/field.tsx'
import MenuPopover from '../ui/menu-popover.tsx'
import { ModalDialog } from '../ui/modal.tsx'
import { generalWords } from '../words/general.ts'
import { sessionMenuWords } from '../words/session-menu.ts'
import { sessionMarksQuery } from './session-marks-query.ts'

const WORDS = sessionMenuWords.views

type Props = { filters: Filters; button: RefObject<HTMLButtonElement | null>; onDone: () => void }

// React.lazy needs a default export.
export default function ViewMenu({ filters, button, onDone }: Props) {
  const { data } = useQuery(sessionMarksQuery)
  const navigate = useNavigate()
  const [asking, setAsking] = useState<'save' | 'remove' | null>(null)
  const views = data?.views ?? []
  if (asking === 'save') return <SaveView filters={filters} onDone={onDone} />
  if (asking === 'remove') return <RemoveViews onDone={onDone} />
  const choose = (id: string) => {
    if (id === 'save' || id === 'remove') return setAsking(id)
    onDone()
    const view = views.find(each => each.id === id)
    void navigate({ to: '/sessions', search: readFilters(view?.search ?? {}) })
  }
  return (
    <MenuPopover
      menu={{
        label: WORDS.label,
        entries: [
          { id: 'all', text: WORDS.all },
          ...views.map(({ id, name }) => ({ id, text: visibleText(name), testId: 'saved-view' })),
          { id: 'save', text: WORDS.save, testId: 'save-view' },
          ...(views.length > 0 ? [{ id: 'remove', text: WORDS.remove, testId: 'remove-views' }] : []),
        ],
        disabled: Object.keys(filters).length === 0 ? ['save'] : [],
        onChoose: choose,
      }}
      button={button}
      onClose={onDone}
    />
  )
}

function useViewChange<T>(mutationFn: (body: T) => Promise<unknown>, onSuccess: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn,
    meta: { showsError: true },
    onSuccess,
    onSettled: () => queries.invalidateQueries({ queryKey: sessionMarksQuery.queryKey }),
  })
}

function SaveView({ filters, onDone }: Pick<Props, 'filters' | 'onDone'>) {
  const save = useViewChange(
    (name: string) => client.call('saveView', { body: { name, search: filters } }),
    onDone,
  )
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    save.mutate(String(new FormData(event.currentTarget).get('name')))
  }
  return (
    <ModalDialog onClose={onDone}>
      <Heading slot="title">{WORDS.saveTitle}</Heading>
      <form onSubmit={submit}>
        <Field label={generalWords.name} error={save.error === null ? null : describeError(save.error)}>
          {field => (
            <input
              {...field}
              className="input"
              name="name"
              required
              maxLength={80}
              autoFocus
              data-testid="view-name"
            />
          )}
        </Field>
        <div className="actions">
          <Button className="button" onPress={onDone}>
            {generalWords.cancel}
          </Button>
          <Button
            className="button primary"
            type="submit"
            isDisabled={save.isPending}
            data-testid="view-save"
          >
            {WORDS.saveNow}
          </Button>
        </div>
      </form>
    </ModalDialog>
  )
}

function RemoveViews({ onDone }: { onDone: () => void }) {
  const { data } = useQuery(sessionMarksQuery)
  const remove = useViewChange(
    (view_id: string) => client.call('removeView', { params: { view_id } }),
    () => undefined,
  )
  return (
    <ModalDialog onClose={onDone}>
      <Heading slot="title">{WORDS.removeTitle}</Heading>
      <ul className="view-list">
        {(data?.views ?? []).map(({ id, name }) => (
          <li key={id}>
            <span className="truncate">{visibleText(name)}</span>
            <Button
              className="button small"
              isDisabled={remove.isPending}
              onPress={() => remove.mutate(id)}
              aria-label={WORDS.removeNamed(visibleText(name))}
              data-testid="view-remove"
            >
              {WORDS.removeNow}
            </Button>
          </li>
        ))}
      </ul>
      {remove.error && (
        <p className="inline-error" role="alert">
          {describeError(remove.error)}
        </p>
      )}
      <div className="actions">
        <Button className="button" onPress={onDone} autoFocus>
          {generalWords.close}
        </Button>
      </div>
    </ModalDialog>
  )
}
