import {
  coerceInputValue,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLSchema,
  isInputType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
  type ValueNode,
  valueFromAST,
  visit,
} from "graphql";

/*
 * `getVariableValues` and `getArgumentValues` of graphql-js for an operation that comes again and again: types are
 * looked up and constants read once. Whatever they would complain about is thrown, and told by the ordinary way.
 */

type Values = Record<string, unknown>;

/** @returns how to read an operation's variables out of a request's. */
export function compileVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): (inputs: Values) => Values {
  const definitions = (operation.variableDefinitions ?? []).map(({ variable, type: written, defaultValue }) => {
    const type = typeFromAST(schema, written);
    if (!isInputType(type)) throw new Error("the type of a variable is none of an input");
    const fallback = defaultValue && valueFromAST(defaultValue, type);
    return { name: variable.name.value, type, fallback, hasFallback: defaultValue !== undefined };
  });
  return (inputs) => {
    const values: Values = {};
    for (const { name, type, fallback, hasFallback } of definitions) {
      if (!Object.hasOwn(inputs, name)) {
        if (hasFallback) values[name] = fallback;
        else if (isNonNullType(type)) throw new Error(`$${name} is missing`);
        continue;
      }
      values[name] = coerceInputValue(inputs[name], type, (_path, _value, error) => {
        throw error;
      });
    }
    return values;
  };
}

/** @returns how to read a field's arguments, given the operation's variables. */
export function compileArguments(
  definitions: readonly GraphQLArgument[],
  node: FieldNode,
): (variables: Values) => Values {
  const given = new Map((node.arguments ?? []).map(({ name, value }) => [name.value, value]));
  const parts = definitions.map((definition) => compileArgument(definition, given.get(definition.name)));
  return (variables) => {
    const values: Values = {};
    for (const part of parts) part(variables, values);
    return values;
  };
}

function compileArgument(
  { name, type, defaultValue }: GraphQLArgument,
  node: ValueNode | undefined,
): (variables: Values, into: Values) => void {
  const absent = (into: Values) => {
    if (defaultValue !== undefined) into[name] = defaultValue;
    else if (isNonNullType(type)) throw new Error(`${name} is missing`);
  };
  if (!node) return (_variables, into) => absent(into);
  if (node.kind === Kind.VARIABLE) {
    const variable = node.name.value;
    const required = isNonNullType(type);
    return (variables, into) => {
      if (!Object.hasOwn(variables, variable)) return absent(into);
      const value = variables[variable];
      if (value == null && required) throw new Error(`${name} must not be null`);
      into[name] = value;
    };
  }
  const read = (variables: Values) => {
    const value = valueFromAST(node, type, variables);
    if (value === undefined) throw new Error(`${name} has no right value`);
    return value;
  };
  if (hasVariables(node)) {
    return (variables, into) => {
      into[name] = read(variables);
    };
  }
  const constant = read({});
  return (_variables, into) => {
    into[name] = constant;
  };
}

function hasVariables(node: ValueNode): boolean {
  let found = false;
  visit(node, {
    Variable() {
      found = true;
    },
  });
  return found;
}
