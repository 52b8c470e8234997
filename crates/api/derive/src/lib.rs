// SPDX-License-Identifier: Apache-2.0
//! `#[api_type]`: trait implementations and schema of an API struct.
//!
//! It implements `Clone`, `Debug`, `Default`, `PartialEq`, `Serialize`, `Deserialize`, `apimachinery::wire::Fields` and
//! `apimachinery::schema::Schema`. Names in JSON are the fields' names in camel case. The type decides when an empty field is
//! omitted: an `Option` always; a string, number, boolean, list or map unless the API requires it (`required`); a struct never.
//! Descriptions are the doc comments.
//!
//! `#[schema(...)]` on a field adds properties that the type does not have: `rename = "volumeID"`, `always` or `omit_empty` to
//! override the rule above, `required`, `deprecated`, `preserve_unknown`, `atomic`, `granular`, `merge_key = "name"`,
//! `patch_strategy = "merge"`, `list_type = "map"`, `list_map_key = "name"` (repeatable). On the struct,
//! `#[schema(name = "Condition")]` sets a Go name that differs from Rust's. Unless `#[api_type(no_schema)]` omits the schema,
//! the crate must have two functions: `crate::go_package(module_path) -> &'static str` returns the Go package,
//! `crate::protobuf::number(package, struct, field) -> Option<Protobuf>` the number of a field.
//!
//! The implementations are plain functions, compiled only in the crate of the struct: the standard derives mark theirs
//! `#[inline]`, so that every crate that clones or compares a Shoot compiles that code again.
//!
//! **Invariants.** Only structs with named fields; an unknown attribute is a compile error.

mod implementations;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, Fields, ItemStruct, Lit, LitStr, Meta, Type, parse_macro_input};

/// Implements the traits of an API type for a struct.
#[proc_macro_attribute]
pub fn api_type(arguments: TokenStream, input: TokenStream) -> TokenStream {
    let has_schema = arguments.is_empty();
    if !has_schema && arguments.to_string() != "no_schema" {
        return quote!(compile_error! { "the only argument is `no_schema`" }).into();
    }
    let input = parse_macro_input!(input as ItemStruct);
    expand(input, has_schema).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(mut input: ItemStruct, has_schema: bool) -> syn::Result<proc_macro2::TokenStream> {
    let Fields::Named(named) = &input.fields else {
        return Err(syn::Error::new_spanned(input, "an API type has named fields"));
    };
    let members = named.named.iter().map(Member::of).collect::<syn::Result<Vec<_>>>()?;
    let implementations = implementations::of(&input.ident, &members);
    let schema = if has_schema { Some(schema(&input, &members)?) } else { None };
    input.attrs.retain(|attribute| !attribute.path().is_ident("schema"));
    for field in &mut input.fields {
        field.attrs.retain(|attribute| !attribute.path().is_ident("schema"));
    }
    Ok(quote! {
        #input
        #implementations
        #schema
    })
}

/// A field of the struct.
struct Member {
    ident: syn::Ident,
    type_: Type,
    /// Name in JSON.
    name: String,
    description: String,
    emit: Emit,
    facts: Facts,
}

/// Rule by which a field is written or omitted.
#[derive(Clone, Copy, PartialEq)]
enum Emit {
    Always,
    OmitEmpty,
    Pointer,
}

impl Member {
    fn of(field: &syn::Field) -> syn::Result<Self> {
        let facts = facts(&field.attrs)?;
        let ident = field.ident.clone().expect("fields are named");
        let plain = ident.to_string();
        let name = facts.rename.clone().unwrap_or_else(|| camel_case(plain.trim_start_matches("r#")));
        let emit = facts.emit.unwrap_or_else(|| emit(&field.ty, facts.required));
        Ok(Self { ident, type_: field.ty.clone(), name, description: doc(&field.attrs), emit, facts })
    }
}

/// The rule of Go's types: pointers are left out when they are nil, scalars and containers when they are empty unless
/// they are required, structs never.
fn emit(type_: &Type, required: bool) -> Emit {
    let Type::Path(path) = type_ else { return Emit::Always };
    let name = path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    match name.as_str() {
        "Option" => Emit::Pointer,
        "String" | "Vec" | "BTreeMap" | "TextMap" | "bool" | "u16" | "u32" | "i32" | "i64" | "f64" | "ByteString"
            if !required =>
        {
            Emit::OmitEmpty
        }
        _ => Emit::Always,
    }
}

fn schema(input: &ItemStruct, members: &[Member]) -> syn::Result<proc_macro2::TokenStream> {
    let name = &input.ident;
    let text = facts(&input.attrs)?.name.unwrap_or_else(|| name.to_string());
    let description = doc(&input.attrs);
    let fields = members.iter().map(|member| field(member, &text));
    // Servers and clients read and write only the parts of an object that differ.
    let is_object = members.iter().any(|member| member.ident == "metadata");
    let keep_fields = is_object.then(|| keep_fields(members));
    let differing_fields = is_object.then(|| differing_fields(members));
    Ok(quote! {
        impl apimachinery::schema::Schema for #name {
            #keep_fields

            #differing_fields

            fn node() -> apimachinery::schema::Node {
                fn object() -> &'static apimachinery::schema::ObjectSchema {
                    static SCHEMA: ::std::sync::OnceLock<apimachinery::schema::ObjectSchema> =
                        ::std::sync::OnceLock::new();
                    SCHEMA.get_or_init(|| {
                        let package = crate::go_package(module_path!());
                        apimachinery::schema::ObjectSchema {
                            name: #text,
                            package,
                            description: #description,
                            fields: vec![#(#fields),*],
                        }
                    })
                }
                apimachinery::schema::Node::Object(apimachinery::schema::ObjectRef::Static(object))
            }
        }
    })
}

fn keep_fields(members: &[Member]) -> proc_macro2::TokenStream {
    let fields = members.iter().map(|Member { ident, name, .. }| {
        quote! {
            if !except.contains(&#name) {
                self.#ident.clone_from(&old.#ident);
            }
        }
    });
    quote! {
        fn keep_fields(&mut self, old: &Self, except: &[&str]) -> bool {
            #(#fields)*
            true
        }
    }
}

fn differing_fields(members: &[Member]) -> proc_macro2::TokenStream {
    let comparisons = members.iter().map(|Member { ident, name, .. }| {
        quote! {
            if self.#ident != other.#ident {
                differing.push(#name);
            }
        }
    });
    quote! {
        fn differing_fields(&self, other: &Self) -> Option<Vec<&'static str>> {
            let mut differing = Vec::new();
            #(#comparisons)*
            Some(differing)
        }
    }
}

fn field(member: &Member, object: &str) -> proc_macro2::TokenStream {
    let Member { type_: node, name, description, facts, .. } = member;
    let required = facts.required;
    let emit = match member.emit {
        Emit::Always => quote!(Always),
        Emit::Pointer => quote!(Pointer),
        Emit::OmitEmpty => quote!(OmitEmpty),
    };
    let merge_key = option(facts.merge_key.as_deref());
    let patch_strategy = option(facts.patch_strategy.as_deref());
    let topology = syn::Ident::new(facts.topology.unwrap_or("Default"), proc_macro2::Span::call_site());
    let keys = &facts.list_map_keys;
    let (preserve_unknown, deprecated) = (facts.preserve_unknown, facts.deprecated);
    quote! {
        apimachinery::schema::Field {
            name: #name,
            description: #description,
            node: <#node as apimachinery::schema::Schema>::node(),
            required: #required,
            emit: apimachinery::schema::Emit::#emit,
            merge_key: #merge_key,
            patch_strategy: #patch_strategy,
            topology: apimachinery::schema::Topology::#topology,
            list_map_keys: &[#(#keys),*],
            preserve_unknown: #preserve_unknown,
            deprecated: #deprecated,
            protobuf: crate::protobuf::number(package, #object, #name),
        }
    }
}

fn option(value: Option<&str>) -> proc_macro2::TokenStream {
    if let Some(value) = value { quote!(Some(#value)) } else { quote!(None) }
}

/// Contents of `#[schema(...)]`.
#[derive(Default)]
struct Facts {
    name: Option<String>,
    rename: Option<String>,
    emit: Option<Emit>,
    required: bool,
    deprecated: bool,
    preserve_unknown: bool,
    merge_key: Option<String>,
    patch_strategy: Option<String>,
    topology: Option<&'static str>,
    list_map_keys: Vec<String>,
}

fn facts(attributes: &[Attribute]) -> syn::Result<Facts> {
    let mut facts = Facts::default();
    for attribute in attributes {
        if attribute.path().is_ident("schema") {
            attribute.parse_nested_meta(|meta| {
                let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match word.as_str() {
                    "name" => facts.name = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "rename" => facts.rename = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "always" => facts.emit = Some(Emit::Always),
                    "omit_empty" => facts.emit = Some(Emit::OmitEmpty),
                    "required" => facts.required = true,
                    "deprecated" => facts.deprecated = true,
                    "preserve_unknown" => facts.preserve_unknown = true,
                    "atomic" => facts.topology = Some("Atomic"),
                    "granular" => facts.topology = Some("Granular"),
                    "merge_key" => facts.merge_key = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "patch_strategy" => facts.patch_strategy = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "list_map_key" => facts.list_map_keys.push(meta.value()?.parse::<LitStr>()?.value()),
                    "list_type" => {
                        facts.topology = Some(match meta.value()?.parse::<LitStr>()?.value().as_str() {
                            "atomic" => "Atomic",
                            "set" => "Set",
                            "map" => "Map",
                            other => return Err(meta.error(format!("unknown list type `{other}`"))),
                        });
                    }
                    other => return Err(meta.error(format!("unknown schema attribute `{other}`"))),
                }
                Ok(())
            })?;
        }
    }
    Ok(facts)
}

fn doc(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(line) = &literal.lit
        {
            lines.push(line.value().trim().to_owned());
        }
    }
    lines.join(" ").trim().to_owned()
}

fn camel_case(snake: &str) -> String {
    let mut out = String::with_capacity(snake.len());
    let mut upper = false;
    for character in snake.chars() {
        if character == '_' {
            upper = true;
        } else if upper {
            out.extend(character.to_uppercase());
            upper = false;
        } else {
            out.push(character);
        }
    }
    out
}
