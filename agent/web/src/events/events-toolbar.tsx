/** Filters and jumps above the grid. Filtering happens in the browser: the server sends the whole log. */
import { type RefObject, useEffect, useState } from 'react'
import {
  Autocomplete,
  Button,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  DialogTrigger,
  Dialog,
  Popover,
  SearchField,
  TextField,
  ToggleButton,
  ToggleButtonGroup,
  useFilter,
} from 'react-aria-components'
import { EVENT_TYPES, type EventType, FAMILIES, type Family } from '@cairn/protocol'
import { formatCount, formatTokens } from '../format.ts'
import { FilterIcon, HelpIcon, SearchIcon } from '../ui/icons.tsx'
import { TailIcon } from '../ui/page-icons.tsx'
import { type EventFilter, NO_FILTER, familyOfAny, isFiltering } from './filter.ts'
import type { EventIndex } from './event-index.ts'
import { eventsWords } from '../words/events.ts'

type Props = {
  index: EventIndex
  isFollowing: boolean
  searchField: RefObject<HTMLInputElement | null>
  jumpField: RefObject<HTMLInputElement | null>
  onFilter: (filter: EventFilter) => void
  onFollow: (isFollowing: boolean) => void
  onJump: (id: number) => void
  onHelp: () => void
  onLeaveField: () => void
}

export function EventsToolbar({
  index,
  isFollowing,
  searchField,
  jumpField,
  onFilter,
  onFollow,
  onJump,
  onHelp,
  onLeaveField,
}: Props) {
  const { filter } = index
  const families = FAMILIES.filter(family => index.countByFamily.has(family) || filter.families.has(family))
  return (
    <div className="events-toolbar" role="group" aria-label={eventsWords.filters}>
      <div className="toolbar-line">
        <TextFilter filter={filter} field={searchField} onFilter={onFilter} onLeave={onLeaveField} />
        <TypePicker index={index} onFilter={onFilter} />
        {isFiltering(filter) && (
          <Button
            className="button quiet"
            onPress={() => onFilter({ ...NO_FILTER, showsDeltas: filter.showsDeltas })}
            data-testid="filter-clear"
          >
            {eventsWords.clear}
          </Button>
        )}
        <JumpField field={jumpField} onJump={onJump} onLeave={onLeaveField} />
        <ToggleButton
          className="button"
          isSelected={isFollowing}
          onChange={onFollow}
          data-testid="follow-tail"
          aria-label={eventsWords.followTail}
        >
          <TailIcon />
          <span className="wide">{eventsWords.follow}</span>
        </ToggleButton>
        <Button className="button quiet square wide" aria-label={eventsWords.keyboard} onPress={onHelp}>
          <HelpIcon />
        </Button>
      </div>
      <div className="chips">
        <ToggleButtonGroup
          className="family-chips"
          aria-label={eventsWords.families}
          selectionMode="multiple"
          selectedKeys={filter.families}
          onSelectionChange={keys => onFilter({ ...filter, families: new Set([...keys] as Family[]) })}
        >
          {families.map(family => (
            <ToggleButton
              key={family}
              id={family}
              className="event-chip"
              data-family={family}
              data-testid={`family-${family}`}
            >
              {family}
              <span className="event-chip-count numeric">{formatTokens(countOf(index, family))}</span>
            </ToggleButton>
          ))}
        </ToggleButtonGroup>
        <ToggleButton
          className="event-chip"
          isSelected={filter.showsDeltas}
          onChange={showsDeltas => onFilter({ ...filter, showsDeltas })}
          data-testid="show-deltas"
        >
          {eventsWords.showDeltas}
          <span className="event-chip-count numeric">{formatTokens(index.deltas)}</span>
        </ToggleButton>
      </div>
    </div>
  )
}

/** The count of a family, without the chunks of answers while they are folded. */
const countOf = ({ countByFamily, deltas, filter }: EventIndex, family: Family): number =>
  (countByFamily.get(family) ?? 0) - (family === familyOfAny('llm.delta') && !filter.showsDeltas ? deltas : 0)

/** The filter follows the typed text with a delay, because each new filter starts a scan. */
function TextFilter({
  filter,
  field,
  onFilter,
  onLeave,
}: {
  filter: EventFilter
  field: RefObject<HTMLInputElement | null>
  onFilter: Props['onFilter']
  onLeave: () => void
}) {
  const [text, setText] = useState(filter.text)
  const wanted = text.trim().toLowerCase()
  useEffect(() => {
    if (wanted === filter.text) return
    const timer = setTimeout(() => onFilter({ ...filter, text: wanted }), 120)
    return () => clearTimeout(timer)
  }, [wanted, filter, onFilter])
  // The filter was cleared or set elsewhere (a related call, the clear button).
  const [known, setKnown] = useState(filter.text)
  if (known !== filter.text) {
    setKnown(filter.text)
    if (filter.text !== wanted) setText(filter.text)
  }
  return (
    <SearchField
      className="search"
      aria-label={eventsWords.filterText}
      value={text}
      onChange={setText}
      onKeyDown={event => {
        if (event.key === 'Enter' || event.key === 'Escape') onLeave()
      }}
    >
      <SearchIcon />
      <Input ref={field} className="input" placeholder={eventsWords.filterText} data-testid="filter-text" />
    </SearchField>
  )
}

function JumpField({
  field,
  onJump,
  onLeave,
}: {
  field: RefObject<HTMLInputElement | null>
  onJump: Props['onJump']
  onLeave: () => void
}) {
  const [text, setText] = useState('')
  return (
    <TextField
      className="jump"
      aria-label={eventsWords.jump}
      value={text}
      onChange={value => setText(value.replace(/\D/g, ''))}
      inputMode="numeric"
      onKeyDown={event => {
        if (event.key === 'Escape') onLeave()
        if (event.key !== 'Enter' || text === '') return
        onJump(Number(text))
        setText('')
      }}
    >
      <Input ref={field} className="input" placeholder={eventsWords.jumpShort} data-testid="event-jump" />
    </TextField>
  )
}

function TypePicker({ index, onFilter }: { index: EventIndex; onFilter: Props['onFilter'] }) {
  const { contains } = useFilter({ sensitivity: 'base' })
  const { types } = index.filter
  const listed = EVENT_TYPES.filter(type => index.countByType.has(type) || types.has(type))
  return (
    <DialogTrigger>
      <Button
        className="button"
        data-testid="filter-types"
        aria-label={types.size === 0 ? eventsWords.types : eventsWords.typesChosen(types.size)}
      >
        <FilterIcon />
        <span className="wide">{eventsWords.types}</span>
        {types.size > 0 && <span className="badge count">{types.size}</span>}
      </Button>
      <Popover className="popover type-popover" placement="bottom start">
        <Dialog aria-label={eventsWords.filterType} className="type-picker">
          <Autocomplete filter={contains}>
            <SearchField className="field" autoFocus>
              <Label className="visually-hidden">{eventsWords.findType}</Label>
              <Input className="input" placeholder={eventsWords.findType} data-testid="type-search" />
            </SearchField>
            <ListBox
              className="type-list"
              aria-label={eventsWords.typesHere}
              selectionMode="multiple"
              escapeKeyBehavior="none"
              selectedKeys={types}
              renderEmptyState={() => <p className="faint">{eventsWords.noType}</p>}
              onSelectionChange={keys =>
                onFilter({
                  ...index.filter,
                  types: new Set(keys === 'all' ? listed : ([...keys] as EventType[])),
                })
              }
            >
              {listed.map(type => (
                <ListBoxItem
                  key={type}
                  id={type}
                  textValue={type}
                  className="type-option"
                  data-family={familyOfAny(type)}
                  data-testid={`type-${type}`}
                >
                  <span className="type-name">{type}</span>
                  <span className="faint numeric">{formatCount(index.countByType.get(type) ?? 0)}</span>
                </ListBoxItem>
              ))}
            </ListBox>
          </Autocomplete>
        </Dialog>
      </Popover>
    </DialogTrigger>
  )
}
