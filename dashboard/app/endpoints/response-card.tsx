import { ArrowDown, ArrowUp, ChevronRight, CircleAlert, Copy, Trash2 } from 'lucide-react';
import { useState, type MouseEvent, type ReactNode } from 'react';
import { LIMITS } from '@standin/contract';
import { formatBytes } from '../requests/traffic-row.ts';
import { Button } from '../ui/button.tsx';
import { CodeEditor } from '../ui/code-editor.tsx';
import { Field, FieldErrors } from '../ui/field.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { Input, Textarea } from '../ui/input.tsx';
import { ConditionRows } from './condition-rows.tsx';
import { DelayFields } from './delay-fields.tsx';
import { DrawFields } from './draw-fields.tsx';
import { readEndpointValues } from './endpoint-values.ts';
import { packed, PACKED } from './form-reader.ts';
import type { ErrorLookup } from './form-rows.tsx';
import { HeaderRows } from './header-rows.tsx';
import { LIST_EDIT, listEditText, type ListEdit } from './list-edit.ts';
import { ResponseSummary } from './response-summary.tsx';
import { TemplateField } from './template-field.tsx';
import { isJsonContent, responsePath, type ResponseValues } from './response-values.ts';

export interface ResponseCardProps {
  readonly index: number;
  /** The number of responses. */
  readonly count: number;
  readonly values: ResponseValues;
  readonly startsOpen: boolean;
  readonly hasErrors: boolean;
  readonly fieldErrors: ErrorLookup;
  /** The id of the `datalist` with the names of the path parameters. */
  readonly parametersId: string;
  readonly onEdit: (event: MouseEvent<HTMLButtonElement>, edit: ListEdit) => void;
}

/**
 * A response as a card, which opens to show its fields. A closed card is one hidden field. Without JavaScript, the buttons of the card
 * submit the form.
 */
export const ResponseCard = (props: ResponseCardProps) => {
  const { index, values, startsOpen, hasErrors, fieldErrors, parametersId } = props;
  // The values as the user has changed them. The fields themselves are uncontrolled.
  const [shown, setShown] = useState(values);
  const [opened, setOpened] = useState(startsOpen ? values : undefined);
  const [hadErrors, setHadErrors] = useState(hasErrors);
  if (hasErrors !== hadErrors) {
    setHadErrors(hasErrors);
    if (hasErrors && opened === undefined) setOpened(shown);
  }
  const path = responsePath(index);
  const read = (element: Element): ResponseValues => {
    const form = element.closest('form');
    const current = (form && readEndpointValues(new FormData(form)).responses[index]) ?? shown;
    setShown(current);
    return current;
  };
  return (
    <li data-response={index} className="relative rounded border border-line">
      <details
        open={opened !== undefined}
        onToggle={({ currentTarget }) => {
          const current = read(currentTarget);
          setOpened(currentTarget.open ? (opened ?? current) : undefined);
        }}
        onInput={({ currentTarget }) => read(currentTarget)}
        className="group"
      >
        <summary className="flex min-h-9 items-center gap-2 rounded py-1 pr-32 pl-2 hover:bg-hover">
          <ChevronRight aria-hidden className="size-3.5 shrink-0 text-muted group-open:rotate-90" />
          <ResponseSummary values={shown} isLast={index === props.count - 1} />
          {hasErrors && <CircleAlert aria-label="Has errors" className="size-4 shrink-0 text-5xx" />}
        </summary>
        {opened === undefined ? (
          <>
            <input type="hidden" name={`${path}${PACKED}`} value={packed(shown)} />
            <noscript>
              <Button
                type="submit"
                name={LIST_EDIT}
                value={listEditText({ kind: 'open', index })}
                formAction="#responses"
              >
                Edit {shown.name}
              </Button>
            </noscript>
          </>
        ) : (
          <ResponseFields
            path={path}
            values={opened}
            isJson={shown.template === '' && isJsonContent(shown.headers)}
            body={shown.body}
            fieldErrors={fieldErrors}
            parametersId={parametersId}
          />
        )}
      </details>
      <CardButtons {...props} name={shown.name} />
    </li>
  );
};

const CardButtons = ({ index, count, name, onEdit }: ResponseCardProps & { readonly name: string }) => {
  const button = (edit: ListEdit, label: string, icon: ReactNode, isDisabled = false): ReactNode => (
    <IconButton
      type="submit"
      name={LIST_EDIT}
      value={listEditText(edit)}
      formAction="#responses"
      data-edit={edit.kind}
      label={label}
      disabled={isDisabled}
      onClick={(event) => onEdit(event, edit)}
      className="disabled:opacity-40"
    >
      {icon}
    </IconButton>
  );
  return (
    <div className="absolute top-1 right-1 flex">
      {button({ kind: 'up', index }, `Move ${name} up`, <ArrowUp aria-hidden />, index === 0)}
      {button({ kind: 'down', index }, `Move ${name} down`, <ArrowDown aria-hidden />, index === count - 1)}
      {button({ kind: 'duplicate', index }, `Duplicate ${name}`, <Copy aria-hidden />, count >= LIMITS.responsesMax)}
      {button({ kind: 'remove', index }, `Remove ${name}`, <Trash2 aria-hidden />)}
    </div>
  );
};

interface ResponseFieldsProps extends Pick<ResponseCardProps, 'values' | 'fieldErrors' | 'parametersId'> {
  readonly path: string;
  readonly isJson: boolean;
  /** The body as the user has entered it. */
  readonly body: string;
}

const ResponseFields = ({ path, values, isJson, body, fieldErrors, parametersId }: ResponseFieldsProps) => {
  const { from, kept, binaryBytes, name, status, conditions, headers } = values;
  return (
    <div className="flex flex-col gap-4 border-t border-line p-3">
      <input type="hidden" name={`${path}.from`} value={from} />
      <input type="hidden" name={`${path}.kept`} value={kept} />
      <input type="hidden" name={`${path}.open`} value="true" />
      <input type="hidden" name={`${path}.binaryBytes`} value={binaryBytes} />
      <FieldErrors errors={fieldErrors(path)} />
      <div className="grid grid-cols-[minmax(0,1fr)_8rem] gap-4">
        <Field label="Response name" errors={fieldErrors(`${path}.name`)}>
          <Input mono name={`${path}.name`} defaultValue={name} placeholder="gold" />
        </Field>
        <Field label="Status" optional errors={fieldErrors(`${path}.status`)}>
          <Input name={`${path}.status`} inputMode="numeric" defaultValue={status} placeholder="200" />
        </Field>
      </div>
      <div className="flex flex-col gap-1">
        <ConditionRows
          list={`${path}.conditions`}
          conditions={conditions}
          parametersId={parametersId}
          fieldErrors={fieldErrors}
        />
        <FieldErrors errors={fieldErrors(`${path}.when`)} />
        <Field
          label="Expression"
          optional
          hint="A condition in CEL, such as request.json.total > 100. It must be true, in addition to the conditions above."
          errors={fieldErrors(`${path}.cel`)}
        >
          <Textarea name={`${path}.cel`} defaultValue={values.cel} className="field-sizing-content max-h-40" />
        </Field>
        <DrawFields path={`${path}.draw`} values={values.draw} fieldErrors={fieldErrors} />
      </div>
      <HeaderRows
        list={`${path}.headers`}
        headers={headers}
        max={LIMITS.responseHeadersMax}
        fieldErrors={fieldErrors}
      />
      {binaryBytes === '' ? (
        <Field
          label="Body"
          hint="A JSON document, or any text if a header sets another content-type."
          errors={fieldErrors(`${path}.body`)}
        >
          <CodeEditor
            name={`${path}.body`}
            label="Response body"
            language={isJson ? 'json' : 'text'}
            defaultValue={values.body}
            rows={6}
          />
        </Field>
      ) : (
        <div>
          <p>
            <span className="font-medium">Body</span>{' '}
            <span className="text-muted">
              {formatBytes(Number(binaryBytes))} of binary content. It is kept. To change it, edit bodyBase64 in the
              manifest.
            </span>
          </p>
          <FieldErrors errors={fieldErrors(`${path}.body`)} />
        </div>
      )}
      <TemplateField
        name={`${path}.template`}
        value={values.template}
        body={body}
        errors={fieldErrors(`${path}.template`)}
      />
      <DelayFields path={`${path}.delay`} values={values.delay} fieldErrors={fieldErrors} />
      {kept !== '' && (
        <p className="text-small break-words text-muted">
          Kept as in the manifest: <code>{kept}</code>
        </p>
      )}
    </div>
  );
};
