//! Bounds the work of one evaluation. Fuel counts instructions, but one instruction may process a
//! text of any length, so filters and tests are charged for the values that they read and return.

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters, tests as conditions};

/// How many bytes the filters and tests of one evaluation may process.
const WORK: usize = 64 << 20;

/// The charge for an element of a list, in addition to its text.
pub(super) const ELEMENT: usize = 16;

/// The remaining work of one evaluation, in bytes.
struct RemainingWork(usize);

/// Charges an evaluation for the bytes that it processes.
pub(super) fn spend(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let left = state.get_or_insert_extension(RemainingWork(WORK));
    match left.0.checked_sub(bytes) {
        Some(less) => left.0 = less,
        None => {
            let reason = format!("the evaluation reads more than {} MiB of values", WORK >> 20);
            return Err(Error::new(ErrorKind::InvalidOperation, reason));
        }
    }
    Ok(())
}

/// How far a filter walks its input.
#[derive(Clone, Copy)]
enum WalkDepth {
    /// A text, or the elements of a list without their contents.
    Elements,
    /// All contents, once.
    Everything,
    /// All contents, once for each comparison.
    Order,
}

/// Makes an engine charge for its filters and tests. Those that process one element or number cost
/// only their instruction.
pub(super) fn meter(engine: &mut Environment<'_>) {
    meter_filters(engine);
    let walks_text: [(&'static str, Value); 3] = [
        ("in", Value::from_function(conditions::is_in)),
        ("lower", Value::from_function(conditions::is_lower)),
        ("upper", Value::from_function(conditions::is_upper)),
    ];
    for (name, test) in walks_text {
        engine.add_test(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            let arguments = arguments.into_values();
            charge(state, &arguments, WalkDepth::Elements)?;
            test.call(state, &arguments)
        });
    }
}

fn meter_filters(engine: &mut Environment<'_>) {
    use WalkDepth::{Elements, Everything, Order};
    let filters: [(&'static str, WalkDepth, Value); 33] = [
        ("safe", Everything, Value::from_function(filters::safe)),
        ("escape", Everything, Value::from_function(filters::escape)),
        ("e", Everything, Value::from_function(filters::escape)),
        ("lower", Everything, Value::from_function(filters::lower)),
        ("upper", Everything, Value::from_function(filters::upper)),
        ("title", Everything, Value::from_function(filters::title)),
        ("capitalize", Everything, Value::from_function(filters::capitalize)),
        ("trim", Everything, Value::from_function(filters::trim)),
        ("sum", Everything, Value::from_function(filters::sum)),
        ("int", Elements, Value::from_function(filters::int)),
        ("float", Elements, Value::from_function(filters::float)),
        ("length", Elements, Value::from_function(filters::length)),
        ("count", Elements, Value::from_function(filters::length)),
        ("items", Elements, Value::from_function(filters::items)),
        ("reverse", Elements, Value::from_function(filters::reverse)),
        ("split", Elements, Value::from_function(filters::split)),
        ("lines", Elements, Value::from_function(filters::lines)),
        ("list", Elements, Value::from_function(filters::list)),
        ("batch", Elements, Value::from_function(filters::batch)),
        ("slice", Elements, Value::from_function(filters::slice)),
        ("chain", Elements, Value::from_function(filters::chain)),
        ("zip", Elements, Value::from_function(filters::zip)),
        ("map", Elements, Value::from_function(filters::map)),
        ("min", Everything, Value::from_function(filters::min)),
        ("max", Everything, Value::from_function(filters::max)),
        ("dictsort", Order, Value::from_function(filters::dictsort)),
        ("sort", Order, Value::from_function(filters::sort)),
        ("unique", Order, Value::from_function(filters::unique)),
        ("groupby", Order, Value::from_function(filters::groupby)),
        ("select", Elements, Value::from_function(filters::select)),
        ("reject", Elements, Value::from_function(filters::reject)),
        ("selectattr", Elements, Value::from_function(filters::selectattr)),
        ("rejectattr", Elements, Value::from_function(filters::rejectattr)),
    ];
    for (name, walk, filter) in filters {
        add_metered(engine, name, walk, filter);
    }
}

/// Adds a filter that is charged for the contents of its input and for its output.
pub(super) fn add_filter(engine: &mut Environment<'_>, name: &'static str, filter: Value) {
    add_metered(engine, name, WalkDepth::Everything, filter);
}

/// Adds a filter that is charged for texts, and for elements of lists without their contents.
pub(super) fn add_shallow_filter(engine: &mut Environment<'_>, name: &'static str, filter: Value) {
    add_metered(engine, name, WalkDepth::Elements, filter);
}

fn add_metered(engine: &mut Environment<'_>, name: &'static str, walk: WalkDepth, filter: Value) {
    engine.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
        let arguments = arguments.into_values();
        charge(state, &arguments, walk)?;
        let result = filter.call(state, &arguments)?;
        charge(state, std::slice::from_ref(&result), WalkDepth::Elements)?;
        Ok::<_, Error>(result)
    });
}

/// Charges an evaluation for a walk over texts, and over elements of lists without their contents.
pub(super) fn spend_elements(state: &mut State<'_, '_>, values: &[Value]) -> Result<(), Error> {
    charge(state, values, WalkDepth::Elements)
}

fn charge(state: &mut State<'_, '_>, arguments: &[Value], walk: WalkDepth) -> Result<(), Error> {
    for value in arguments {
        let times = match walk {
            WalkDepth::Order => value.len().unwrap_or_default().max(1).ilog2() as usize + 1,
            WalkDepth::Elements | WalkDepth::Everything => 1,
        };
        charge_walk(state, value, times, !matches!(walk, WalkDepth::Elements))?;
    }
    Ok(())
}

/// Charges for the walk of a filter over a value. Stops when no work is left.
fn charge_walk(
    state: &mut State<'_, '_>,
    value: &Value,
    times: usize,
    deep: bool,
) -> Result<(), Error> {
    let text = value.as_str().map(str::len).or_else(|| value.as_bytes().map(<[u8]>::len));
    if let Some(bytes) = text {
        return spend(state, bytes.saturating_mul(times));
    }
    let is_list = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    if !is_list && value.kind() != ValueKind::Map {
        return Ok(());
    }
    spend(state, value.len().unwrap_or_default().saturating_mul(times * ELEMENT))?;
    if deep {
        for element in value.try_iter()? {
            let member = if is_list { None } else { value.get_item(&element).ok() };
            charge_walk(state, &element, times, deep)?;
            member.map_or(Ok(()), |member| charge_walk(state, &member, times, deep))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::expr::{Expression, Template};
    use crate::value::Payload;

    /// Renders a template over `x`, a text of `length` bytes, and over the list of its words.
    fn render(source: &str, length: usize) -> Result<String, String> {
        let x = Payload::from("ab ".repeat(length / 3));
        let words = Payload::from(vec![Payload::from("ab"); length / 3]);
        let template = Template::compile(source).unwrap();
        template.render([("x", &x), ("words", &words)]).map_err(|error| error.reason)
    }

    #[test]
    fn a_loop_over_a_long_text_runs_out_of_work() {
        for (walks, length) in [
            ("x|replace('a', 'bb')|length", 1 << 20),
            ("x|upper|length", 1 << 20),
            ("x|trim|first", 1 << 20),
            ("x|reverse|first", 1 << 20),
            ("x|split|first", 1 << 20),
            ("x|list|first", 1 << 20),
            ("x|length", 1 << 20),
            ("(x ~ x)|length", 1 << 20),
            ("x is in('c')", 1 << 20),
            ("x is upper", 1 << 20),
            ("x is matching('c')", 1 << 20),
            ("words|sort|first", 1 << 16),
            ("words|unique|first", 1 << 16),
            ("words|join|length", 1 << 16),
        ] {
            let source = format!("{{% for i in range(10000) %}}{{{{ {walks} }}}}{{% endfor %}}");
            let reason = render(&source, length).unwrap_err();
            assert!(reason.contains("reads more than 64 MiB"), "{walks}: {reason}");
        }
    }

    #[test]
    fn a_loop_is_charged_for_the_elements_that_it_reads() {
        let source = "{% for w in words %}{{ w|upper }}{% if words|length > 3 %},{% endif %}\
                      {% endfor %}{{ words|sort|unique|join }}";
        assert!(render(source, 3_000).unwrap().starts_with("AB,AB,"));
        let among = Expression::compile("words|select('in', words)|list|length").unwrap();
        let words = Payload::from(vec![Payload::from("ab"); 1_000]);
        assert_eq!(among.number([("words", &words)]), Ok(1000.0));
    }

    #[test]
    fn every_occurrence_of_a_shared_input_counts() {
        let doubled =
            (0..40).fold(Payload::Null, |half, _| Payload::list(vec![half.clone(), half]));
        let error = Expression::compile("x|length").unwrap().number([("x", &doubled)]);
        assert!(error.unwrap_err().reason.contains("take more than 16 MiB"));
    }
}
